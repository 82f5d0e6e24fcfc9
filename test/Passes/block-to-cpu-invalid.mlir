// RUN: %limit steep-opt %s --split-input-file --block-to-cpu --verify-diagnostics

// expected-error@+1 {{kernel has no block.grid}}
func.func @no_grid(%x: memref<4xf32>) attributes {block.kernel} {
  return
}

// -----

// expected-error@+1 {{expected one bufferised scf.forall over a one-dimensional grid}}
func.func @no_forall(%x: memref<4xf32>) attributes {block.kernel, block.grid = 1 : i64} {
  return
}

// -----

// expected-error@+1 {{expected argument 0 to be of static shape and identity layout, but got 'memref<?xf32>'}}
func.func @dynamic(%x: memref<?xf32>) attributes {block.kernel, block.grid = 1 : i64} {
  scf.forall (%b) in (1) {
  } {mapping = [#gpu.block<x>]}
  return
}

// -----

// expected-error@+1 {{expected argument 0 to be a memref or a number, but got 'vector<4xf32>'}}
func.func @vector(%x: vector<4xf32>) attributes {block.kernel, block.grid = 1 : i64} {
  scf.forall (%b) in (1) {
  } {mapping = [#gpu.block<x>]}
  return
}

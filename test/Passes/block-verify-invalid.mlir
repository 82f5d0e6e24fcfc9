// RUN: %limit steep-opt %s --split-input-file --block-verify --verify-diagnostics

// expected-error@+1 {{'func.func' op expected a kernel to have no result, got 1}}
func.func @result(%x: memref<4xf32>) -> f32 attributes {
    block.kernel, block.grid = 4 : i64, block.config = #block.config<rows = 1>} {
  %c = arith.constant 1.0 : f32
  return %c : f32
}

// -----

// expected-error@+1 {{'func.func' op expected argument #1 of a kernel to be a number or a memref of static shape and identity layout, got 'tensor<4xf32>'}}
func.func @tensor(%x: memref<4xf32>, %y: tensor<4xf32>) attributes {
    block.kernel, block.grid = 4 : i64, block.config = #block.config<rows = 1>} {
  return
}

// -----

// expected-error@+1 {{expected argument #0 of a kernel to be a number or a memref of static shape and identity layout, got 'memref<4xf32, strided<[2]>>'}}
func.func @strided(%x: memref<4xf32, strided<[2]>>) attributes {
    block.kernel, block.grid = 4 : i64, block.config = #block.config<rows = 1>} {
  return
}

// -----

// expected-error@+1 {{expected argument #0 of a kernel to be a number or a memref of static shape and identity layout, got 'memref<?xf32>'}}
func.func @dynamic(%x: memref<?xf32>) attributes {
    block.kernel, block.grid = 4 : i64, block.config = #block.config<rows = 1>} {
  return
}

// -----

// expected-error@+1 {{'func.func' op expected a kernel to have a #block.config, which block-select-config gives it}}
func.func @undecided(%x: memref<4xf32>) attributes {block.kernel, block.grid = 4 : i64} {
  return
}

// -----

// expected-error@+1 {{'func.func' op expected a kernel to have a body of one block}}
func.func private @external(%x: memref<4xf32>) attributes {block.kernel}

// -----

func.func @tensors(%x: memref<4x4xf32>) attributes {
    block.kernel, block.grid = 4 : i64, block.config = #block.config<rows = 1>} {
  %0 = bufferization.to_tensor %x restrict : memref<4x4xf32> to tensor<4x4xf32> // expected-error {{'bufferization.to_tensor' op works on a tensor; expected a kernel to be bufferized}}
  return
}

// -----

func.func @geo(%x: memref<4x4xf32>) attributes {
    block.kernel, block.grid = 4 : i64, block.config = #block.config<rows = 1>} {
  scf.forall (%i) in (4) {
    %0 = ub.poison : tensor<4x4xf32>
    // expected-error@+1 {{'geo.normalize_rows' op is left in a kernel; expected it to be decomposed}}
    %1 = geo.normalize_rows %0 : tensor<4x4xf32>
  }
  return
}

// -----

func.func @alloc(%x: memref<4xf32>) attributes {
    block.kernel, block.grid = 4 : i64, block.config = #block.config<rows = 1>} {
  scf.forall (%i) in (4) {
    // expected-error@+1 {{'memref.alloc' op allocates; expected a kernel to work in place}}
    %0 = memref.alloc() : memref<4xf32>
  }
  return
}

// -----

func.func @copy(%x: memref<4xf32>) attributes {
    block.kernel, block.grid = 4 : i64, block.config = #block.config<rows = 1>} {
  scf.forall (%i) in (4) {
    // expected-error@+1 {{'memref.copy' op copies a memref to itself}}
    memref.copy %x, %x : memref<4xf32> to memref<4xf32>
  }
  return
}

// -----

func.func @fast(%x: memref<4xf32>, %c: f32) attributes {
    block.kernel, block.grid = 4 : i64, block.config = #block.config<rows = 1>} {
  scf.forall (%i) in (4) {
    // expected-error@+1 {{'arith.addf' op carries fast-math flags #arith.fastmath<contract>; expected none, so that results are reproducible}}
    %0 = arith.addf %c, %c fastmath<contract> : f32
    memref.store %0, %x[%i] : memref<4xf32>
  }
  return
}

// -----

// expected-error@+1 {{'func.func' op expected one scf.forall over the blocks of the grid, got none}}
func.func @none(%x: memref<4xf32>) attributes {
    block.kernel, block.grid = 4 : i64, block.config = #block.config<rows = 1>} {
  return
}

// -----

// expected-error@+1 {{'func.func' op expected one scf.forall over the blocks of the grid, got two}}
func.func @two(%x: memref<4xf32>) attributes {
    block.kernel, block.grid = 4 : i64, block.config = #block.config<rows = 1>} {
  scf.forall (%i) in (4) {
  }
  // expected-note@+1 {{the second one}}
  scf.forall (%i) in (4) {
  }
  return
}

// -----

func.func @outside(%x: memref<4xf32>, %c: f32) attributes {
    block.kernel, block.grid = 4 : i64, block.config = #block.config<rows = 1>} {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'memref.store' op writes memory outside of the scf.forall over the blocks of the grid}}
  memref.store %c, %x[%c0] : memref<4xf32>
  scf.forall (%i) in (4) {
  }
  return
}

// -----

func.func @plane(%x: memref<4xf32>) attributes {
    block.kernel, block.grid = 4 : i64, block.config = #block.config<rows = 1>} {
  // expected-error@+1 {{'scf.forall' op expected the grid to have one dimension that runs from 0 to a constant by 1}}
  scf.forall (%i, %j) in (2, 2) {
  }
  return
}

// -----

// expected-error@+1 {{'func.func' op expected block.grid = 8, the number of blocks of its scf.forall}}
func.func @count(%x: memref<4xf32>) attributes {
    block.kernel, block.grid = 4 : i64, block.config = #block.config<rows = 1>} {
  scf.forall (%i) in (8) {
  }
  return
}

// -----

func.func @step(%x: memref<4xf32>, %c: f32) attributes {block.step} {
  // expected-error@+1 {{'arith.addf' op is in a step; expected only views of the workspace and calls of kernels}}
  %0 = arith.addf %c, %c : f32
  return
}

// -----

func.func @other() {
  return
}
func.func @step() attributes {block.step} {
  // expected-error@+1 {{'func.call' op expected a step to call kernels, got @other}}
  call @other() : () -> ()
  return
}

// RUN: %limit steep-opt %s --split-input-file --block-tile --block-vectorize --verify-diagnostics

#id = affine_map<(i, j) -> (i, j)>
func.func @uninitialised(%X: memref<4x4xf32>) attributes {block.kernel, block.config = #block.config<rows = 1>} {
  // expected-error@+1 {{is read before anything is written to it}}
  %e = tensor.empty() : tensor<4x4xf32>
  %y = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32):
    %z = arith.negf %a : f32
    linalg.yield %z : f32
  } -> tensor<4x4xf32>
  bufferization.materialize_in_destination %y in restrict writable %X : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @no_sum(%X: memref<4x4xf32>, %S: memref<4xf32>) attributes {block.kernel, block.config = #block.config<rows = 1>} {
  %x = bufferization.to_tensor %X restrict : memref<4x4xf32> to tensor<4x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{has a reduction that is neither a sum, a product nor an extremum}}
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x4xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %z = arith.divf %acc, %a : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  bufferization.materialize_in_destination %s in restrict writable %S : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
func.func @fast(%X: memref<4x4xf32>) attributes {block.kernel, block.config = #block.config<rows = 1>} {
  %x = bufferization.to_tensor %X restrict writable : memref<4x4xf32> to tensor<4x4xf32>
  %y = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%x : tensor<4x4xf32>) {
  ^bb0(%a: f32):
    // expected-error@+1 {{carries fast-math flags}}
    %z = arith.mulf %a, %a fastmath<contract> : f32
    linalg.yield %z : f32
  } -> tensor<4x4xf32>
  bufferization.materialize_in_destination %y in restrict writable %X : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

// Without a config, also where block-tile, which asks for it too, is not run:
// RUN: %limit not steep-opt %s --block-vectorize --split-input-file 2>&1 | FileCheck %s
// CHECK: 'func.func' op expected a kernel to have a #block.config, which block-select-config gives it
// expected-error@+1 {{expected a kernel to have a #block.config, which block-select-config gives it}}
func.func @no_config(%X: memref<4xf32>) attributes {block.kernel} {
  return
}

// RUN: %limit steep-opt %s --split-input-file --block-tile --verify-diagnostics

// expected-error@+1 {{expected a kernel to have a #block.config, which block-select-config gives it}}
func.func @no_config(%X: memref<4xf32>) attributes {block.kernel} {
  return
}

// -----

// expected-error@+1 {{kernel has no result}}
func.func @no_result(%X: memref<4xf32>) attributes {block.kernel, block.config = #block.config<rows = 1>} {
  return
}

// -----

// A transpose in place: some block would read what another has written.
#id = affine_map<(i, j) -> (i, j)>
#tr = affine_map<(i, j) -> (j, i)>
func.func @transpose_in_place(%X: memref<4x4xf32>) attributes {block.kernel, block.config = #block.config<rows = 1>} {
  // expected-error@+1 {{kernel overwrites this argument and reads another part of it than the one that a block writes}}
  %x = bufferization.to_tensor %X restrict writable : memref<4x4xf32> to tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %t = linalg.generic {indexing_maps = [#tr, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4x4xf32>
  bufferization.materialize_in_destination %t in restrict writable %X : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

func.func @product(%A: memref<4x4xf32>, %C: memref<4x4xf32>)
    attributes {block.kernel, block.config = #block.config<rows = 1>} {
  %a = bufferization.to_tensor %A restrict : memref<4x4xf32> to tensor<4x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  // expected-error@+1 {{products of matrices are not cut into tiles, but lowered by block-lower-products before}}
  %p = linalg.matmul ins(%a, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  bufferization.materialize_in_destination %p in restrict writable %C : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

// expected-error@+1 {{results of shapes 'tensor<4x4xf32>' and 'tensor<3x4xf32>' cannot be cut together}}
func.func @two_grids(%A: memref<4x4xf32>, %B: memref<3x4xf32>)
    attributes {block.kernel, block.config = #block.config<rows = 1>} {
  %zero = arith.constant 0.0 : f32
  %ea = tensor.empty() : tensor<4x4xf32>
  %a = linalg.fill ins(%zero : f32) outs(%ea : tensor<4x4xf32>) -> tensor<4x4xf32>
  %eb = tensor.empty() : tensor<3x4xf32>
  %b = linalg.fill ins(%zero : f32) outs(%eb : tensor<3x4xf32>) -> tensor<3x4xf32>
  bufferization.materialize_in_destination %a in restrict writable %A : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  bufferization.materialize_in_destination %b in restrict writable %B : (tensor<3x4xf32>, memref<3x4xf32>) -> ()
  return
}

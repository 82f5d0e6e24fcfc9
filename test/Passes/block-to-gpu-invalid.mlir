// RUN: %limit steep-opt %s --block-to-gpu --split-input-file --verify-diagnostics

// expected-error@below {{kernel has no result}}
func.func @nothing(%x: memref<4x4xf32>) attributes {block.kernel, block.config = #block.config<rows = 4, warps = 4>} {
  return
}

// -----

// expected-error@below {{expected results of equal width, but got 4 and 8}}
func.func @widths(%x: memref<4x4xf32>, %y: memref<4x8xf32>) attributes {block.kernel, block.config = #block.config<rows = 4, warps = 4>} {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %e1 = tensor.empty() : tensor<4x8xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  bufferization.materialize_in_destination %f in restrict writable %x : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  bufferization.materialize_in_destination %f1 in restrict writable %y : (tensor<4x8xf32>, memref<4x8xf32>) -> ()
  return
}

// -----

// expected-error@below {{results of shapes 'tensor<4x4xf32>' and 'tensor<5x4xf32>' cannot be cut together}}
func.func @rows(%x: memref<4x4xf32>, %y: memref<5x4xf32>) attributes {block.kernel, block.config = #block.config<rows = 4, warps = 4>} {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %e1 = tensor.empty() : tensor<5x4xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<5x4xf32>) -> tensor<5x4xf32>
  bufferization.materialize_in_destination %f in restrict writable %x : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  bufferization.materialize_in_destination %f1 in restrict writable %y : (tensor<5x4xf32>, memref<5x4xf32>) -> ()
  return
}

// -----

// expected-error@below {{expected tile = [m, n, k] in the config of a matrix product}}
func.func @product(%x: memref<8x8xf32>, %y: memref<8x8xf32>) attributes {block.kernel, block.config = #block.config<tile = [8, 8], warps = 1>} {
  %xt = bufferization.to_tensor %x restrict : memref<8x8xf32> to tensor<8x8xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = linalg.matmul ins(%xt, %xt : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  bufferization.materialize_in_destination %p in restrict writable %y : (tensor<8x8xf32>, memref<8x8xf32>) -> ()
  return
}

// RUN: %limit steep-opt %s --block-lower-matmul --split-input-file --verify-diagnostics

// More shared memory than a block has.
func.func @large(%x: memref<512x512xf32>, %y: memref<512x512xf32>)
    attributes {block.kernel, block.config = #block.config<tile = [128, 128, 64], warps = 8, stages = 2>} {
  %xt = bufferization.to_tensor %x restrict : memref<512x512xf32> to tensor<512x512xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  // expected-error@below {{needs 137216 bytes of shared memory for tile = [128, 128, 64] and stages = 2, more than the 101376 that a block has}}
  %p = linalg.matmul ins(%xt, %xt : tensor<512x512xf32>, tensor<512x512xf32>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  bufferization.materialize_in_destination %p in restrict writable %y : (tensor<512x512xf32>, memref<512x512xf32>) -> ()
  return
}

// -----

// expected-error@below {{expected a tile of 64 results a thread, 8x8, and steps of 4, but got tile = [64, 64, 16] and warps = 4}}
func.func @threads(%x: memref<64x64xf32>, %y: memref<64x64xf32>)
    attributes {block.kernel, block.config = #block.config<tile = [64, 64, 16], warps = 4>} {
  %xt = bufferization.to_tensor %x restrict : memref<64x64xf32> to tensor<64x64xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.matmul ins(%xt, %xt : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  bufferization.materialize_in_destination %p in restrict writable %y : (tensor<64x64xf32>, memref<64x64xf32>) -> ()
  return
}

// -----

// expected-error@below {{expected 1 warps, two rows of them, to share in parts of 16x16 a tile of multiples of 64, but got tile = [64, 64, 16]}}
func.func @warps(%x: memref<64x64xf32>, %y: memref<64x64xf32>)
    attributes {block.kernel, block.config = #block.config<tile = [64, 64, 16], warps = 1, dot = bf16>} {
  %xt = bufferization.to_tensor %x restrict : memref<64x64xf32> to tensor<64x64xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.matmul ins(%xt, %xt : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  bufferization.materialize_in_destination %p in restrict writable %y : (tensor<64x64xf32>, memref<64x64xf32>) -> ()
  return
}

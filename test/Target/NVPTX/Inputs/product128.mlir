// Products of bf16 operands whose tiles are 128x128x64, in three stages: one left operand
// read along the depth, one across.
func.func @bf16_nn(%a: memref<2048x2048xbf16>, %b: memref<2048x2048xbf16>, %c: memref<2048x2048xf32>) attributes {block.kernel, block.config = #block.config<tile = [128, 128, 64], warps = 8, stages = 3, dot = bf16>} {
  %at = bufferization.to_tensor %a restrict : memref<2048x2048xbf16> to tensor<2048x2048xbf16>
  %bt = bufferization.to_tensor %b restrict : memref<2048x2048xbf16> to tensor<2048x2048xbf16>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2048x2048xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %p = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%at, %bt : tensor<2048x2048xbf16>, tensor<2048x2048xbf16>) outs(%f : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  bufferization.materialize_in_destination %p in restrict writable %c : (tensor<2048x2048xf32>, memref<2048x2048xf32>) -> ()
  return
}
func.func @bf16_tn(%a: memref<2048x2048xbf16>, %b: memref<2048x2048xbf16>, %c: memref<2048x2048xf32>) attributes {block.kernel, block.config = #block.config<tile = [128, 128, 64], warps = 8, stages = 3, dot = bf16>} {
  %at = bufferization.to_tensor %a restrict : memref<2048x2048xbf16> to tensor<2048x2048xbf16>
  %bt = bufferization.to_tensor %b restrict : memref<2048x2048xbf16> to tensor<2048x2048xbf16>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2048x2048xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %p = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%at, %bt : tensor<2048x2048xbf16>, tensor<2048x2048xbf16>) outs(%f : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  bufferization.materialize_in_destination %p in restrict writable %c : (tensor<2048x2048xf32>, memref<2048x2048xf32>) -> ()
  return
}

// The plain row norm: no clip, no decay, no bias correction.
func.func @rownorm(%u: memref<4096x512xf32>, %g: memref<4096x512xf32>, %b: memref<4096x512xf32>, %lr: f32)
    attributes {block.kernel, block.config = #block.config<rows = 1, warps = 1>} {
  %ut = bufferization.to_tensor %u restrict writable : memref<4096x512xf32> to tensor<4096x512xf32>
  %gt = bufferization.to_tensor %g restrict : memref<4096x512xf32> to tensor<4096x512xf32>
  %bt = bufferization.to_tensor %b restrict writable : memref<4096x512xf32> to tensor<4096x512xf32>
  %b1 = geo.ema %bt, %gt {beta = 0.95} : tensor<4096x512xf32>
  %s = geo.max_row %b1 radius(%lr) {eps = 1.0e-8} : tensor<4096x512xf32>
  %u1 = geo.apply %ut, %s : tensor<4096x512xf32>
  bufferization.materialize_in_destination %b1 in restrict writable %b : (tensor<4096x512xf32>, memref<4096x512xf32>) -> ()
  bufferization.materialize_in_destination %u1 in restrict writable %u : (tensor<4096x512xf32>, memref<4096x512xf32>) -> ()
  return
}
func.func @step(%u: memref<4096x512xf32> {optim.role = "weight"}, %g: memref<4096x512xf32> {optim.role = "gradient"},
    %b: memref<4096x512xf32> {optim.role = "state"}, %lr: f32 {optim.role = "lr"}) attributes {block.step, optim.count = 1 : i64} {
  call @rownorm(%u, %g, %b, %lr) : (memref<4096x512xf32>, memref<4096x512xf32>, memref<4096x512xf32>, f32) -> ()
  return
}

// RUN: %limit steep-opt %s --block-distribute-rows --split-input-file --verify-diagnostics

// What libdevice would approximate.
func.func @exp(%x: memref<4x4xf32>) attributes {block.kernel, block.config = #block.config<rows = 4, warps = 4>} {
  %xt = bufferization.to_tensor %x restrict writable : memref<4x4xf32> to tensor<4x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%xt : tensor<4x4xf32>) {
  ^bb0(%o: f32):
    // expected-error@below {{has no correctly rounded form on a GPU}}
    %s = math.exp %o : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  bufferization.materialize_in_destination %r in restrict writable %x : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

func.func @fast(%x: memref<4x4xf32>) attributes {block.kernel, block.config = #block.config<rows = 4, warps = 4>} {
  %xt = bufferization.to_tensor %x restrict writable : memref<4x4xf32> to tensor<4x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%xt : tensor<4x4xf32>) {
  ^bb0(%o: f32):
    // expected-error@below {{carries fast-math flags}}
    %s = arith.addf %o, %o fastmath<contract> : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  bufferization.materialize_in_destination %r in restrict writable %x : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// -----

// expected-error@below {{expected a kernel to have a #block.config}}
func.func @undecided(%x: memref<4x4xf32>) attributes {block.kernel} {
  return
}

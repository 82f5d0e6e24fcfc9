// RUN: %limit steep-opt %s --block-select-config=target=nvptx | FileCheck %s
// RUN: not steep-opt %s --block-select-config=target=amdgcn 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: expected the option target to be cpu or nvptx, got 'amdgcn'

#ij = affine_map<(i, j) -> (i, j)>

// Short rows are several a warp.
// CHECK-LABEL: func.func @head(
// CHECK-SAME:    #block.config<rows = 16, warps = 4>
func.func @head(%x: memref<50257x128xf32>, %y: memref<50257x128xf32>) attributes {block.kernel} {
  %xt = bufferization.to_tensor %x restrict : memref<50257x128xf32> to tensor<50257x128xf32>
  %e = tensor.empty() : tensor<50257x128xf32>
  %r = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%xt : tensor<50257x128xf32>) outs(%e : tensor<50257x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<50257x128xf32>
  bufferization.materialize_in_destination %r in restrict writable %y : (tensor<50257x128xf32>, memref<50257x128xf32>) -> ()
  return
}

// A warp holds a row.
// CHECK-LABEL: func.func @row(
// CHECK-SAME:    #block.config<rows = 4, warps = 4>
func.func @row(%x: memref<50257x512xf32>, %y: memref<50257x512xf32>) attributes {block.kernel} {
  %xt = bufferization.to_tensor %x restrict : memref<50257x512xf32> to tensor<50257x512xf32>
  %e = tensor.empty() : tensor<50257x512xf32>
  %r = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%xt : tensor<50257x512xf32>) outs(%e : tensor<50257x512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<50257x512xf32>
  bufferization.materialize_in_destination %r in restrict writable %y : (tensor<50257x512xf32>, memref<50257x512xf32>) -> ()
  return
}

// A block shares a row that a warp cannot hold.
// CHECK-LABEL: func.func @long(
// CHECK-SAME:    #block.config<rows = 1, warps = 4>
func.func @long(%x: memref<100x8192xf32>, %y: memref<100x8192xf32>) attributes {block.kernel} {
  %xt = bufferization.to_tensor %x restrict : memref<100x8192xf32> to tensor<100x8192xf32>
  %e = tensor.empty() : tensor<100x8192xf32>
  %r = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%xt : tensor<100x8192xf32>) outs(%e : tensor<100x8192xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<100x8192xf32>
  bufferization.materialize_in_destination %r in restrict writable %y : (tensor<100x8192xf32>, memref<100x8192xf32>) -> ()
  return
}

// Small tiles fill the device, large ones reuse operands.
// CHECK-LABEL: func.func @small(
// CHECK-SAME:    #block.config<tile = [64, 64, 16], warps = 2, stages = 3>
func.func @small(%x: memref<512x512xf32>, %y: memref<512x512xf32>, %z: memref<512x512xf32>) attributes {block.kernel} {
  %xt = bufferization.to_tensor %x restrict : memref<512x512xf32> to tensor<512x512xf32>
  %yt = bufferization.to_tensor %y restrict : memref<512x512xf32> to tensor<512x512xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %p = linalg.matmul ins(%xt, %yt : tensor<512x512xf32>, tensor<512x512xf32>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  bufferization.materialize_in_destination %p in restrict writable %z : (tensor<512x512xf32>, memref<512x512xf32>) -> ()
  return
}

// CHECK-LABEL: func.func @large(
// CHECK-SAME:    #block.config<tile = [128, 128, 16], warps = 8, stages = 3>
func.func @large(%x: memref<4096x4096xf32>, %y: memref<4096x4096xf32>, %z: memref<4096x4096xf32>) attributes {block.kernel} {
  %xt = bufferization.to_tensor %x restrict : memref<4096x4096xf32> to tensor<4096x4096xf32>
  %yt = bufferization.to_tensor %y restrict : memref<4096x4096xf32> to tensor<4096x4096xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %p = linalg.matmul ins(%xt, %yt : tensor<4096x4096xf32>, tensor<4096x4096xf32>) outs(%f : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  bufferization.materialize_in_destination %p in restrict writable %z : (tensor<4096x4096xf32>, memref<4096x4096xf32>) -> ()
  return
}

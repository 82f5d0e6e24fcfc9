// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(block-lower-products))'

// expected-error @+1 {{expected tile = [m, n] and micro = [m, n] in the config of a matrix product}}
func.func @rows(%A: memref<8x8xf32>) attributes {block.kernel, block.config = #block.config<rows = 4>} {
  %a = bufferization.to_tensor %A restrict writable : memref<8x8xf32> to tensor<8x8xf32>
  %p = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
  bufferization.materialize_in_destination %p in restrict writable %A : (tensor<8x8xf32>, memref<8x8xf32>) -> ()
  return
}

// -----

// expected-error @+1 {{expected micro to be as wide as a panel of its result, 8, got 4}}
func.func @narrow(%A: memref<8x8xf32>, %P: memref<1x8x8xf32>) attributes {block.kernel,
    block.config = #block.config<tile = [8, 8], micro = [4, 4], lanes = 4>} {
  %a = bufferization.to_tensor %A restrict : memref<8x8xf32> to tensor<8x8xf32>
  %p = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
  %e = tensor.empty() : tensor<1x8x8xf32>
  %q = linalg.pack %p outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [8] into %e : tensor<8x8xf32> -> tensor<1x8x8xf32>
  bufferization.materialize_in_destination %q in restrict writable %P : (tensor<1x8x8xf32>, memref<1x8x8xf32>) -> ()
  return
}

// -----

// expected-error @+1 {{expected the rows of micro to divide the panels of the left operand, 8, got 3}}
func.func @crossing(%A: memref<1x8x8xf32>, %P: memref<8x8xf32>) attributes {block.kernel,
    block.config = #block.config<tile = [6, 8], micro = [3, 8], lanes = 4>} {
  %a0 = bufferization.to_tensor %A restrict : memref<1x8x8xf32> to tensor<1x8x8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %a = linalg.unpack %a0 outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [8] into %e : tensor<1x8x8xf32> -> tensor<8x8xf32>
  %p = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
  bufferization.materialize_in_destination %p in restrict writable %P : (tensor<8x8xf32>, memref<8x8xf32>) -> ()
  return
}

// -----

func.func @blocks(%A: memref<8x8xf32>, %P: memref<2x2x4x4xf32>) attributes {block.kernel, block.config = #block.config<rows = 4>} {
  %a = bufferization.to_tensor %A restrict : memref<8x8xf32> to tensor<8x8xf32>
  %e = tensor.empty() : tensor<2x2x4x4xf32>
  // expected-error @+1 {{expected panels of columns}}
  %q = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %e : tensor<8x8xf32> -> tensor<2x2x4x4xf32>
  bufferization.materialize_in_destination %q in restrict writable %P : (tensor<2x2x4x4xf32>, memref<2x2x4x4xf32>) -> ()
  return
}

// -----

func.func @shapes(%A: memref<8x8xf32>, %P: memref<8x8xf32>, %Q: memref<8xf32>) attributes {block.kernel,
    block.config = #block.config<tile = [8, 8], micro = [4, 4]>} {
  %a = bufferization.to_tensor %A restrict : memref<8x8xf32> to tensor<8x8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %p = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
  bufferization.materialize_in_destination %p in restrict writable %P : (tensor<8x8xf32>, memref<8x8xf32>) -> ()
  // expected-error @+1 {{expected matrices of one static shape, got 'tensor<8xf32>'}}
  bufferization.materialize_in_destination %e in restrict writable %Q : (tensor<8xf32>, memref<8xf32>) -> ()
  return
}

// -----

// expected-error @+1 {{expected amx = [16, 16, 32], micro = [32, 32] and lanes = 16 in the config of a product on AMX}}
func.func @parts(%A: memref<8x8xf32>, %P: memref<8x8xf32>) attributes {block.kernel,
    block.config = #block.config<tile = [8, 8], micro = [8, 8], amx = [8, 8, 32], lanes = 8>} {
  %a = bufferization.to_tensor %A restrict : memref<8x8xf32> to tensor<8x8xf32>
  %p = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
  bufferization.materialize_in_destination %p in restrict writable %P : (tensor<8x8xf32>, memref<8x8xf32>) -> ()
  return
}

// -----

func.func @floats(%A: memref<64x64xf32>, %P: memref<64x64xf32>) attributes {block.kernel,
    block.config = #block.config<tile = [32, 32], micro = [32, 32], amx = [16, 16, 32], lanes = 16>} {
  %a = bufferization.to_tensor %A restrict : memref<64x64xf32> to tensor<64x64xf32>
  // expected-error @+1 {{expected operands of BF16 in panels of 32 columns, the left one in rows and the right one in pairs, for a product on AMX}}
  %p = linalg.matmul ins(%a, %a : tensor<64x64xf32>, tensor<64x64xf32>) outs(%a : tensor<64x64xf32>) -> tensor<64x64xf32>
  bufferization.materialize_in_destination %p in restrict writable %P : (tensor<64x64xf32>, memref<64x64xf32>) -> ()
  return
}

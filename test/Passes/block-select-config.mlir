// RUN: %limit steep-opt %s --pass-pipeline='builtin.module(func.func(block-select-config))' | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: %limit steep-opt %s --pass-pipeline='builtin.module(func.func(block-select-config{lanes=8 registers=16 l2=262144}))' | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: %limit not steep-opt %s --pass-pipeline='builtin.module(func.func(block-select-config{lanes=12}))' 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: %limit not steep-opt %s --pass-pipeline='builtin.module(func.func(block-select-config{registers=0}))' 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: %limit steep-opt %s --pass-pipeline='builtin.module(func.func(block-select-config{amx=true}))' | FileCheck %s --check-prefixes=CHECK,AVX512,AMX
// LANES: error: 'func.func' op expected the option lanes to be a power of two, got 12
// REGISTERS: error: 'func.func' op expected the option registers to be positive, got 0

// Rows: a quarter of the second-level cache a block; two vectors a chunk.
// CHECK-LABEL: func.func @rows
// AVX512-SAME: #block.config<rows = 128, chunk = 32, lanes = 16>
// AVX2-SAME: #block.config<rows = 32, chunk = 16, lanes = 8>
func.func @rows(%g: memref<50257x256xf32>, %w: memref<50257x256xf32>, %s: f32) attributes {block.kernel} {
  return
}

// Few rows: one of sixteen parts a block, at least one row.
// CHECK-LABEL: func.func @few
// CHECK-SAME: #block.config<rows = 3,
func.func @few(%g: memref<33x17xf32>, %w: memref<33x17xf32>) attributes {block.kernel} {
  return
}
// CHECK-LABEL: func.func @one
// CHECK-SAME: #block.config<rows = 1,
func.func @one(%g: memref<1x1000000xf32>) attributes {block.kernel} {
  return
}

// Sums of groups of rows: a block is a group, whatever the size of the matrix.
// CHECK-LABEL: func.func @groups
// CHECK-SAME: #block.config<rows = 1,
func.func @groups(%g: memref<16384x8xf32>, %p: memref<64x8xf64>) attributes {block.kernel} {
  %a = tensor.empty() : tensor<64x256x8xf32>
  %b = tensor.empty() : tensor<64x8xf64>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, r, j) -> (i, r, j)>, affine_map<(i, r, j) -> (i, j)>],
      iterator_types = ["parallel", "reduction", "parallel"]} ins(%a : tensor<64x256x8xf32>) outs(%b : tensor<64x8xf64>) {
  ^bb0(%x: f32, %acc: f64):
    %y = arith.extf %x : f32 to f64
    %z = arith.addf %acc, %y : f64
    linalg.yield %z : f64
  } -> tensor<64x8xf64>
  return
}

// A product: three vectors a row in registers, blocks of rows that keep their
// part of the right operand in three eighths of the second-level cache.
// CHECK-LABEL: func.func @product
// AVX512-SAME: #block.config<tile = [64, 528], micro = [8, 48], lanes = 16>
// AVX2-SAME: #block.config<tile = [64, 192], micro = [4, 24], lanes = 8>
func.func @product(%m: memref<512x512xf32>) attributes {block.kernel} {
  %a = tensor.empty() : tensor<512x128xf32>
  %b = tensor.empty() : tensor<128x512xf32>
  %c = tensor.empty() : tensor<512x512xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<512x128xf32>, tensor<128x512xf32>) outs(%c : tensor<512x512xf32>) -> tensor<512x512xf32>
  return
}

// A deep one: large blocks, in slabs of whole panels.
// CHECK-LABEL: func.func @deep
// AVX512-SAME: #block.config<tile = [512, 96, 1056], micro = [8, 48],
// AVX2-SAME: #block.config<tile = [512, 24, 1032], micro = [4, 24],
func.func @deep(%m: memref<512x512xf32>) attributes {block.kernel} {
  %a = tensor.empty() : tensor<512x2048xf32>
  %b = tensor.empty() : tensor<2048x512xf32>
  %c = tensor.empty() : tensor<512x512xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<512x2048xf32>, tensor<2048x512xf32>) outs(%c : tensor<512x512xf32>) -> tensor<512x512xf32>
  return
}

// A symmetric one: a block is what lies below the diagonal of some panels.
// CHECK-LABEL: func.func @symmetric
// AVX512-SAME: #block.config<tile = [512, 96], micro = [8, 48],
// AVX2-SAME: #block.config<tile = [512, 48], micro = [4, 24],
func.func @symmetric(%m: memref<512x512xf32>) attributes {block.kernel} {
  %a = tensor.empty() : tensor<512x512xf32>
  %0 = linalg.matmul {geo.symmetric} ins(%a, %a : tensor<512x512xf32>, tensor<512x512xf32>) outs(%a : tensor<512x512xf32>) -> tensor<512x512xf32>
  return
}

// Panels of columns come before rows; blocks are whole squares.
// CHECK-LABEL: func.func @panels
// AVX512-SAME: #block.config<rows = 32,
// AVX2-SAME: #block.config<rows = 16,
func.func @panels(%g: memref<512x512xf32>, %p: memref<11x512x48xf32>) attributes {block.kernel} {
  return
}

// The precision that the geometry allows is copied.
// CHECK-LABEL: func.func @bf16
// CHECK-SAME: dot = bf16>
func.func @bf16(%m: memref<32x32xf32>) attributes {block.kernel} {
  %a = tensor.empty() : tensor<32x32xf32>
  %0 = linalg.matmul {geo.dot = #geo<dot bf16>} ins(%a, %a : tensor<32x32xf32>, tensor<32x32xf32>) outs(%a : tensor<32x32xf32>) -> tensor<32x32xf32>
  return
}

// Operands that lie as AMX reads them: four of its parts, where the target has
// it. The part of the right operand is half as large as in FP32. Otherwise, and
// where an operand lies otherwise, a part is as wide as the panels.
// CHECK-LABEL: func.func @tiles
// AMX-SAME: #block.config<tile = [64, 256], micro = [32, 32], amx = [16, 16, 32], lanes = 16, dot = bf16>
// CHECK-LABEL: func.func @across
// AVX512-SAME: #block.config<tile = [64, 192], micro = [8, 32], lanes = 16, dot = bf16>
#rows = affine_map<(i, j, k) -> (i, k)>
#columns = affine_map<(i, j, k) -> (k, j)>
#result = affine_map<(i, j, k) -> (i, j)>
func.func @tiles(%A: memref<16x512x32xbf16>, %B: memref<16x256x32x2xbf16>) attributes {block.kernel} {
  %a0 = bufferization.to_tensor %A restrict : memref<16x512x32xbf16> to tensor<16x512x32xbf16>
  %b0 = bufferization.to_tensor %B restrict : memref<16x256x32x2xbf16> to tensor<16x256x32x2xbf16>
  %e = tensor.empty() : tensor<512x512xbf16>
  %a = linalg.unpack %a0 outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [32] into %e : tensor<16x512x32xbf16> -> tensor<512x512xbf16>
  %b = linalg.unpack %b0 outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [32, 2] into %e : tensor<16x256x32x2xbf16> -> tensor<512x512xbf16>
  %c = tensor.empty() : tensor<512x512xf32>
  %0 = linalg.generic {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"], geo.dot = #geo<dot bf16>}
      ins(%a, %b : tensor<512x512xbf16>, tensor<512x512xbf16>) outs(%c : tensor<512x512xf32>) {
  ^bb0(%x: bf16, %y: bf16, %z: f32):
    %x32 = arith.extf %x : bf16 to f32
    %y32 = arith.extf %y : bf16 to f32
    %xy = arith.mulf %x32, %y32 : f32
    %s = arith.addf %z, %xy : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  return
}
#across = affine_map<(i, j, k) -> (k, i)>
func.func @across(%B: memref<16x256x32x2xbf16>) attributes {block.kernel} {
  %b0 = bufferization.to_tensor %B restrict : memref<16x256x32x2xbf16> to tensor<16x256x32x2xbf16>
  %e = tensor.empty() : tensor<512x512xbf16>
  %b = linalg.unpack %b0 outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [32, 2] into %e : tensor<16x256x32x2xbf16> -> tensor<512x512xbf16>
  %c = tensor.empty() : tensor<512x512xf32>
  %0 = linalg.generic {indexing_maps = [#across, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"], geo.dot = #geo<dot bf16>}
      ins(%b, %b : tensor<512x512xbf16>, tensor<512x512xbf16>) outs(%c : tensor<512x512xf32>) {
  ^bb0(%x: bf16, %y: bf16, %z: f32):
    %x32 = arith.extf %x : bf16 to f32
    %y32 = arith.extf %y : bf16 to f32
    %xy = arith.mulf %x32, %y32 : f32
    %s = arith.addf %z, %xy : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  return
}

// What was decided before stays.
// CHECK-LABEL: func.func @decided
// CHECK-SAME: block.config = #block.config<rows = 7>
func.func @decided(%g: memref<33x17xf32>) attributes {block.kernel, block.config = #block.config<rows = 7>} {
  return
}

// CHECK-LABEL: func.func @step
// CHECK-NOT: block.config
func.func @step() attributes {block.step} {
  return
}

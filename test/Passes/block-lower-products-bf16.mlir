// RUN: %limit steep-opt %s --pass-pipeline='builtin.module(func.func(block-lower-products{dot-bf16=true}))' | FileCheck %s --check-prefixes=CHECK,DOT
// RUN: %limit steep-opt %s --pass-pipeline='builtin.module(func.func(block-lower-products))' | FileCheck %s --check-prefixes=CHECK,WIDE

// Two terms at a time: a word of the left operand is broadcast, and meets the
// pairs of a row of the right operand's panel.
// CHECK-LABEL: func.func @pairs
// CHECK:         %[[RIGHT:.*]] = memref.collapse_shape %arg1 {{.*}} : memref<1x8x8x2xbf16> into memref<1x8x16xbf16>
// CHECK:         scf.for %[[K:.*]] = %c0 to %c4 step %c2 iter_args
// CHECK:           memref.prefetch %[[RIGHT]]
// CHECK:           %[[AT:.*]] = arith.muli %[[K]], %c8
// CHECK:           memref.prefetch %arg0[%{{.*}}, %{{.*}}, %[[AT]]], read
// CHECK:           %[[R:.*]] = vector.load %[[RIGHT]]{{.*}} : memref<1x8x16xbf16>, vector<16xbf16>
// CHECK:           %[[L:.*]] = vector.load %arg0{{.*}} : memref<2x8x8xbf16>, vector<2xbf16>
// CHECK:           vector.bitcast %[[L]] : vector<2xbf16> to vector<1xi32>
// DOT:             llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.256"({{.*}}) : (vector<8xf32>, vector<16xbf16>, vector<16xbf16>) -> vector<8xf32>
// WIDE:            arith.shli
// WIDE:            math.fma
// WIDE:            math.fma
func.func @pairs(%A: memref<2x8x8xbf16>, %B: memref<1x8x8x2xbf16>, %P: memref<8x8xf32>) attributes {block.kernel,
    block.config = #block.config<tile = [8, 8], micro = [4, 8], lanes = 8, dot = bf16>} {
  %a0 = bufferization.to_tensor %A restrict : memref<2x8x8xbf16> to tensor<2x8x8xbf16>
  %b0 = bufferization.to_tensor %B restrict : memref<1x8x8x2xbf16> to tensor<1x8x8x2xbf16>
  %ae = tensor.empty() : tensor<8x16xbf16>
  %be = tensor.empty() : tensor<16x8xbf16>
  %a = linalg.unpack %a0 outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [8] into %ae : tensor<2x8x8xbf16> -> tensor<8x16xbf16>
  %b = linalg.unpack %b0 outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [8, 2] into %be : tensor<1x8x8x2xbf16> -> tensor<16x8xbf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<8x16xbf16>, tensor<16x8xbf16>) outs(%f : tensor<8x8xf32>) {
  ^bb0(%x: bf16, %y: bf16, %z: f32):
    %x32 = arith.extf %x : bf16 to f32
    %y32 = arith.extf %y : bf16 to f32
    %xy = arith.mulf %x32, %y32 : f32
    %s = arith.addf %z, %xy : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  bufferization.materialize_in_destination %p in restrict writable %P : (tensor<8x8xf32>, memref<8x8xf32>) -> ()
  return
}

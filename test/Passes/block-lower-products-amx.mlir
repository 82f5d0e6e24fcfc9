// RUN: %limit steep-opt %s --pass-pipeline='builtin.module(func.func(block-lower-products{dot-bf16=true}))' | FileCheck %s

// Four parts of the result in registers 0 to 3: two parts of the left operand
// (4 and 5), 64 bytes a row, meet two of the right one (6 and 7), 128 bytes. The
// product itself is stored straight from the registers; from there it is read
// again for what is made of it.
// CHECK-LABEL: func.func @tiles
// CHECK:         memref.alloca() {alignment = 64 : i64} : memref<64xi8>
// CHECK:         scf.forall
// CHECK:           llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK:           llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK-COUNT-3:   llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK-NEXT:      scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK:             %[[A:.*]] = llvm.mlir.constant(64 : i64)
// CHECK:             llvm.call_intrinsic "llvm.x86.tileloadd64"(%{{.*}}, %{{.*}}, %[[A]])
// CHECK:             %[[B:.*]] = llvm.mlir.constant(128 : i64)
// CHECK:             llvm.call_intrinsic "llvm.x86.tileloadd64"(%{{.*}}, %{{.*}}, %[[B]])
// CHECK-COUNT-4:     llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-COUNT-4:   llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK-NOT:       vector.store %{{.*}}, %arg2
// CHECK:           vector.load %arg2{{.*}} : memref<64x32xf32>, vector<16xf32>
// CHECK:           vector.store %{{.*}}, %arg3{{.*}} : memref<64x32xf32>, vector<16xf32>
// What is left is computed with vectors.
// CHECK-LABEL: func.func @borders
// CHECK:         memref.alloca() {alignment = 64 : i64} : memref<32x32xf32>
// CHECK:         llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK:         vector.load %{{.*}} : memref<32x32xf32>, vector<16xf32>
// CHECK:         llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK:         llvm.call_intrinsic "llvm.x86.tilerelease"
// While a tile is summed up, in eight steps, four of its rows and four of those
// above the diagonal are asked for in each; it is copied there at once.
// CHECK-LABEL: func.func @symmetric
// CHECK:         scf.for %{{.*}} = %c0 to %c8 step %c1
// CHECK-COUNT-16:  memref.prefetch %arg2{{.*}}, write
// CHECK-NOT:       memref.prefetch
// CHECK:           llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK-NOT:     llvm.call_intrinsic
// CHECK:         vector.shuffle
#rows = affine_map<(i, j, k) -> (i, k)>
#columns = affine_map<(i, j, k) -> (k, j)>
#result = affine_map<(i, j, k) -> (i, j)>
#id = affine_map<(i, j) -> (i, j)>
#config = #block.config<tile = [32, 32], micro = [32, 32], amx = [16, 16, 32], lanes = 16, dot = bf16>
func.func @tiles(%A: memref<2x64x32xbf16>, %B: memref<1x32x32x2xbf16>, %P: memref<64x32xf32>, %Q: memref<64x32xf32>) attributes {block.kernel, block.config = #config} {
  %a0 = bufferization.to_tensor %A restrict : memref<2x64x32xbf16> to tensor<2x64x32xbf16>
  %b0 = bufferization.to_tensor %B restrict : memref<1x32x32x2xbf16> to tensor<1x32x32x2xbf16>
  %ae = tensor.empty() : tensor<64x64xbf16>
  %be = tensor.empty() : tensor<64x32xbf16>
  %a = linalg.unpack %a0 outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [32] into %ae : tensor<2x64x32xbf16> -> tensor<64x64xbf16>
  %b = linalg.unpack %b0 outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [32, 2] into %be : tensor<1x32x32x2xbf16> -> tensor<64x32xbf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  %p = linalg.generic {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<64x64xbf16>, tensor<64x32xbf16>) outs(%f : tensor<64x32xf32>) {
  ^bb0(%x: bf16, %y: bf16, %z: f32):
    %x32 = arith.extf %x : bf16 to f32
    %y32 = arith.extf %y : bf16 to f32
    %xy = arith.mulf %x32, %y32 : f32
    %s = arith.addf %z, %xy : f32
    linalg.yield %s : f32
  } -> tensor<64x32xf32>
  %q = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<64x32xf32>) outs(%e : tensor<64x32xf32>) {
  ^bb0(%x: f32, %y: f32):
    %d = arith.addf %x, %x : f32
    linalg.yield %d : f32
  } -> tensor<64x32xf32>
  bufferization.materialize_in_destination %p in restrict writable %P : (tensor<64x32xf32>, memref<64x32xf32>) -> ()
  bufferization.materialize_in_destination %q in restrict writable %Q : (tensor<64x32xf32>, memref<64x32xf32>) -> ()
  return
}
func.func @borders(%A: memref<2x36x32xbf16>, %B: memref<1x20x32x2xbf16>, %P: memref<36x32xf32>) attributes {block.kernel, block.config = #config} {
  %a0 = bufferization.to_tensor %A restrict : memref<2x36x32xbf16> to tensor<2x36x32xbf16>
  %b0 = bufferization.to_tensor %B restrict : memref<1x20x32x2xbf16> to tensor<1x20x32x2xbf16>
  %ae = tensor.empty() : tensor<36x40xbf16>
  %be = tensor.empty() : tensor<40x32xbf16>
  %a = linalg.unpack %a0 outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [32] into %ae : tensor<2x36x32xbf16> -> tensor<36x40xbf16>
  %b = linalg.unpack %b0 outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [32, 2] into %be : tensor<1x20x32x2xbf16> -> tensor<40x32xbf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<36x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<36x32xf32>) -> tensor<36x32xf32>
  %p = linalg.generic {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<36x40xbf16>, tensor<40x32xbf16>) outs(%f : tensor<36x32xf32>) {
  ^bb0(%x: bf16, %y: bf16, %z: f32):
    %x32 = arith.extf %x : bf16 to f32
    %y32 = arith.extf %y : bf16 to f32
    %xy = arith.mulf %x32, %y32 : f32
    %s = arith.addf %z, %xy : f32
    linalg.yield %s : f32
  } -> tensor<36x32xf32>
  bufferization.materialize_in_destination %p in restrict writable %P : (tensor<36x32xf32>, memref<36x32xf32>) -> ()
  return
}

func.func @symmetric(%A: memref<8x64x32xbf16>, %B: memref<2x128x32x2xbf16>, %P: memref<64x64xf32>) attributes {block.kernel, block.config = #config} {
  %a0 = bufferization.to_tensor %A restrict : memref<8x64x32xbf16> to tensor<8x64x32xbf16>
  %b0 = bufferization.to_tensor %B restrict : memref<2x128x32x2xbf16> to tensor<2x128x32x2xbf16>
  %ae = tensor.empty() : tensor<64x256xbf16>
  %be = tensor.empty() : tensor<256x64xbf16>
  %a = linalg.unpack %a0 outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [32] into %ae : tensor<8x64x32xbf16> -> tensor<64x256xbf16>
  %b = linalg.unpack %b0 outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [32, 2] into %be : tensor<2x128x32x2xbf16> -> tensor<256x64xbf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.generic {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<64x256xbf16>, tensor<256x64xbf16>) outs(%f : tensor<64x64xf32>) attrs = {geo.symmetric} {
  ^bb0(%x: bf16, %y: bf16, %z: f32):
    %x32 = arith.extf %x : bf16 to f32
    %y32 = arith.extf %y : bf16 to f32
    %xy = arith.mulf %x32, %y32 : f32
    %s = arith.addf %z, %xy : f32
    linalg.yield %s : f32
  } -> tensor<64x64xf32>
  bufferization.materialize_in_destination %p in restrict writable %P : (tensor<64x64xf32>, memref<64x64xf32>) -> ()
  return
}

// RUN: %limit steep-opt %s --split-input-file '--block-form-kernels=panel=48' | FileCheck %s
// RUN: %limit not steep-opt %s --split-input-file '--block-form-kernels=panel=-1' 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: 'func.func' op expected the option panel to be at least 0, got -1

// An operand that is an argument is copied to panels, once for both products.
// What the first product makes and the second one multiplies lies in panels too;
// what replaces the weight does not.
// CHECK-LABEL: func.func @chain_k0(
// CHECK-SAME:    %[[X:.*]]: memref<96x64xf32>, %[[P:.*]]: memref<2x96x48xf32>)
// CHECK:         %[[COPY:.*]] = linalg.copy
// CHECK:         %[[PACK:.*]] = linalg.pack %[[COPY]] padding_value(%{{.*}} : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [48]
// CHECK:         materialize_in_destination %[[PACK]] in restrict writable %[[P]]
// CHECK-LABEL: func.func @chain_k1(
// CHECK-SAME:    memref<2x96x48xf32>, %{{.*}}: memref<2x64x48xf32>)
// CHECK:         linalg.unpack
// CHECK:         linalg.matmul {{.*}}{geo.symmetric}
// CHECK:         linalg.pack
// CHECK-LABEL: func.func @chain_k2(
// CHECK-SAME:    memref<2x96x48xf32>, %{{.*}}: memref<2x64x48xf32>, %[[W:.*]]: memref<96x64xf32>)
// CHECK:         %[[Y:.*]] = linalg.matmul
// CHECK-NOT:     linalg.pack
// CHECK:         materialize_in_destination %[[Y]] in restrict writable %[[W]]
// CHECK-LABEL: func.func @chain(
// CHECK:         memref.view {{.*}} to memref<2x96x48xf32>
// CHECK:         call @chain_k0
// CHECK-NOT:     call @chain_k0
func.func @chain(%w: tensor<96x64xf32> {optim.role = "weight"}, %x: tensor<96x64xf32> {optim.role = "gradient"})
    -> (tensor<96x64xf32> {optim.role = "weight"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %a = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      {geo.symmetric} ins(%x, %x : tensor<96x64xf32>, tensor<96x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = tensor.empty() : tensor<96x64xf32>
  %h = linalg.fill ins(%zero : f32) outs(%g : tensor<96x64xf32>) -> tensor<96x64xf32>
  %y = linalg.matmul ins(%x, %a : tensor<96x64xf32>, tensor<64x64xf32>) outs(%h : tensor<96x64xf32>) -> tensor<96x64xf32>
  return %y : tensor<96x64xf32>
}

// -----

// A right operand that is read down its columns is transposed on its way.
// CHECK-LABEL: func.func @down_k1(
// CHECK-SAME:    memref<32x64xf32>, %{{.*}}: memref<1x64x48xf32>)
// CHECK:         linalg.transpose
// CHECK-LABEL: func.func @down_k2(
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<48x64xf32>, tensor<64x32xf32>)
// CHECK-LABEL: func.func @down(
func.func @down(%w: tensor<48x32xf32> {optim.role = "weight"}, %a: tensor<48x64xf32> {optim.role = "gradient"},
    %b: tensor<32x64xf32> {optim.role = "state"}) -> (tensor<48x32xf32> {optim.role = "weight"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<48x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<48x32xf32>) -> tensor<48x32xf32>
  %y = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%a, %b : tensor<48x64xf32>, tensor<32x64xf32>) outs(%f : tensor<48x32xf32>) -> tensor<48x32xf32>
  return %y : tensor<48x32xf32>
}

// -----

// Steps of an iteration that differ in their coefficients are calls of one
// kernel, which takes the numbers of the product's epilogue as arguments.
// CHECK-LABEL: func.func @steps_k1(
// CHECK-SAME:    memref<1x32x48xf32>, %[[A:[a-z0-9]+]]: f32, %[[B:[a-z0-9]+]]: f32, %{{.*}}: memref<1x32x48xf32>)
// CHECK:         linalg.matmul
// CHECK:         math.fma %[[A]]
// CHECK:         arith.mulf %{{.*}}, %[[B]]
// CHECK-NOT:     func.func @steps_k3(
// CHECK-LABEL: func.func @steps(
// CHECK:         call @steps_k0(
// CHECK:         %[[A1:.*]] = arith.constant 2.0
// CHECK:         %[[B1:.*]] = arith.constant 3.0
// CHECK:         call @steps_k1(%{{.*}}, %[[A1]], %[[B1]], %{{.*}})
// CHECK:         %[[A2:.*]] = arith.constant 4.0
// CHECK:         %[[B2:.*]] = arith.constant 5.0
// CHECK:         call @steps_k1(%{{.*}}, %[[A2]], %[[B2]], %{{.*}})
// CHECK:         call @steps_k2(
#id = affine_map<(i, j) -> (i, j)>
func.func @steps(%w: tensor<32x32xf32> {optim.role = "weight"}, %x: tensor<32x32xf32> {optim.role = "gradient"})
    -> (tensor<32x32xf32> {optim.role = "weight"}) {
  %zero = arith.constant 0.0 : f32
  %a0 = arith.constant 2.0 : f32
  %b0 = arith.constant 3.0 : f32
  %a1 = arith.constant 4.0 : f32
  %b1 = arith.constant 5.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %p0 = linalg.matmul ins(%x, %x : tensor<32x32xf32>, tensor<32x32xf32>) outs(%f : tensor<32x32xf32>) -> tensor<32x32xf32>
  %x1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p0 : tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.fma %a0, %in, %in : f32
    %1 = arith.mulf %0, %b0 : f32
    linalg.yield %1 : f32
  } -> tensor<32x32xf32>
  %p1 = linalg.matmul ins(%x1, %x1 : tensor<32x32xf32>, tensor<32x32xf32>) outs(%f : tensor<32x32xf32>) -> tensor<32x32xf32>
  %x2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%p1 : tensor<32x32xf32>) outs(%e : tensor<32x32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.fma %a1, %in, %in : f32
    %1 = arith.mulf %0, %b1 : f32
    linalg.yield %1 : f32
  } -> tensor<32x32xf32>
  %y = linalg.matmul ins(%x2, %x2 : tensor<32x32xf32>, tensor<32x32xf32>) outs(%f : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}

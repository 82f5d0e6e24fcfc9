// RUN: %limit steep-opt %s --geo-expand-spectral="pad-to=16" --split-input-file | FileCheck %s
// RUN: %limit steep-opt %s --geo-expand-spectral --split-input-file | FileCheck %s --check-prefix=EXACT

// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[T:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[LT:.*]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-DAG: #[[R:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[O:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>

// A wide matrix is transposed at either end; 40 x 20 is padded to 48 x 32.
// CHECK-LABEL: func.func @wide
// CHECK-SAME: (%[[N:.*]]: tensor<20x40xf32>, %[[RADIUS:.*]]: f32)
// CHECK: %[[SQ:.*]] = geo.row_squares %[[N]] : tensor<20x40xf32>
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[SQ]] : tensor<20xf64>) {{.*}} {
// CHECK: arith.addf %{{.*}} : f64
// CHECK: %[[INV:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<f64>) outs(%{{.*}} : tensor<f32>)
// CHECK: math.sqrt %{{.*}} : f64
// CHECK: arith.addf %{{.*}} : f64
// CHECK: arith.divf %{{.*}} : f64
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK: %[[TALL:.*]] = linalg.generic {indexing_maps = [#[[T]], #{{.*}}, #[[ID]]]{{.*}} ins(%[[N]], %[[INV]] : tensor<20x40xf32>, tensor<f32>) outs(%{{.*}} : tensor<40x20xf32>)
// CHECK: %[[ZERO:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<48x32xf32>)
// CHECK: %[[X:.*]] = tensor.insert_slice %[[TALL]] into %[[ZERO]][0, 0] [40, 20] [1, 1]
// The first step.
// CHECK: %[[A:.*]] = linalg.matmul indexing_maps = [#[[LT]], #[[R]], #[[O]]] {geo.symmetric} ins(%[[X]], %[[X]] : tensor<48x32xf32>, tensor<48x32xf32>)
// CHECK: %[[P:.*]] = linalg.matmul {geo.symmetric} ins(%[[A]], %[[A]] : tensor<32x32xf32>, tensor<32x32xf32>)
// CHECK-DAG: %[[B1:.*]] = arith.constant -4.775000e+00 : f32
// CHECK-DAG: %[[C1:.*]] = arith.constant 2.031500e+00 : f32
// CHECK: %[[Z:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[P]] : {{.*}}
// CHECK-NEXT: ^bb0(%[[IA:.*]]: f32, %[[IP:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[CP:.*]] = arith.mulf %[[C1]], %[[IP]] : f32
// CHECK-NEXT: math.fma %[[B1]], %[[IA]], %[[CP]] : f32
// CHECK: %[[Q:.*]] = linalg.matmul ins(%[[X]], %[[Z]] : tensor<48x32xf32>, tensor<32x32xf32>)
// CHECK: %[[A1:.*]] = arith.constant 3.444500e+00 : f32
// CHECK: %[[X1:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[Q]] : {{.*}}
// CHECK-NEXT: ^bb0(%[[IX:.*]]: f32, %[[IQ:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: math.fma %[[A1]], %[[IX]], %[[IQ]] : f32
// The second one ends with its iterate.
// CHECK-COUNT-3: linalg.matmul
// CHECK: %[[X2:.*]] = linalg.generic {{.*}} ins(%[[X1]], %{{.*}} : tensor<48x32xf32>, tensor<48x32xf32>)
// CHECK-NOT: linalg.matmul
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[X2]][0, 0] [40, 20] [1, 1]
// CHECK: %[[FACTOR:.*]] = arith.negf %[[RADIUS]] : f32
// CHECK: linalg.generic {indexing_maps = [#[[T]], #[[ID]]]{{.*}} ins(%[[PART]] : tensor<40x20xf32>) outs(%{{.*}} : tensor<20x40xf32>)
// CHECK: arith.mulf %[[FACTOR]], %{{.*}} : f32
// CHECK-NOT: geo.spectral

// Without padding there is nothing to fill, insert or extract but the products'
// accumulators.
// EXACT-LABEL: func.func @wide
// EXACT-NOT: tensor.insert_slice
// EXACT-NOT: tensor.extract_slice
// EXACT: linalg.matmul {{.*}} ins(%{{.*}} : tensor<40x20xf32>, tensor<40x20xf32>) outs(%{{.*}} : tensor<20x20xf32>)
// EXACT-NOT: tensor.insert_slice
// EXACT-NOT: tensor.extract_slice
// EXACT: return
func.func @wide(%n: tensor<20x40xf32>, %r: f32) -> tensor<20x40xf32> {
  %s = geo.spectral %n radius(%r) {schedule = "jordan", steps = 2, eps = 1.0e-5} : tensor<20x40xf32>
  return %s : tensor<20x40xf32>
}

// -----

// A tall matrix lies as it is needed; sizes that are multiples are not padded.
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @tall
// CHECK: %[[X:.*]] = linalg.generic {indexing_maps = [#[[ID]], #{{.*}}, #[[ID]]]{{.*}} outs(%{{.*}} : tensor<32x16xf32>)
// CHECK-NOT: tensor.insert_slice
// CHECK: linalg.matmul indexing_maps = {{.*}} ins(%[[X]], %[[X]] : tensor<32x16xf32>, tensor<32x16xf32>) outs(%{{.*}} : tensor<16x16xf32>)
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @tall(%n: tensor<32x16xf32>, %r: f32) -> tensor<32x16xf32> {
  %s = geo.spectral %n radius(%r) {schedule = "cubic", steps = 1, eps = 1.0e-5} : tensor<32x16xf32>
  return %s : tensor<32x16xf32>
}

// -----

// The bound on precision goes to the products. With eps = 0 a zero matrix must
// not become 0 * inf.
// CHECK-LABEL: func.func @bf16
// CHECK: %[[NORM:.*]] = math.sqrt
// CHECK: %[[INV:.*]] = arith.divf %{{.*}}, %[[NORM]] : f64
// CHECK: %[[IS:.*]] = arith.cmpf oeq, %[[NORM]], %[[ZERO:.*]] : f64
// CHECK: arith.select %[[IS]], %[[ZERO]], %[[INV]] : f64
// CHECK-COUNT-2: linalg.matmul{{.*}} {geo.dot = #geo<dot bf16>, geo.symmetric}
// CHECK: linalg.matmul {geo.dot = #geo<dot bf16>} ins
func.func @bf16(%n: tensor<16x16xf32>, %r: f32) -> tensor<16x16xf32> {
  %s = geo.spectral %n radius(%r) dot(bf16) {schedule = "cubic", steps = 1} : tensor<16x16xf32>
  return %s : tensor<16x16xf32>
}

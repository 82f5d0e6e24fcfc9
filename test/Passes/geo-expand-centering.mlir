// RUN: %limit steep-opt %s --geo-expand-centering | FileCheck %s

// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[COL:.*]] = affine_map<(d0, d1) -> (d1)>

// CHECK-LABEL: func.func @center
// CHECK-SAME: (%[[G:.*]]: tensor<64x8xf32>)
// CHECK: %[[ZEROS:.*]] = linalg.fill ins(%{{.*}} : f64) outs(%{{.*}} : tensor<8xf64>)
// CHECK: %[[SUMS:.*]] = linalg.generic {indexing_maps = [#[[ALL]], #[[COL]]], iterator_types = ["reduction", "parallel"]} ins(%[[G]] : tensor<64x8xf32>) outs(%[[ZEROS]] : tensor<8xf64>)
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK: arith.addf %{{.*}} : f64
// CHECK: %[[ROWS:.*]] = arith.constant 6.400000e+01 : f64
// CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[SUMS]] : tensor<8xf64>) outs(%{{.*}} : tensor<8xf32>)
// CHECK: arith.divf %{{.*}}, %[[ROWS]] : f64
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK: %[[C:.*]] = linalg.generic {indexing_maps = [#[[ALL]], #[[COL]], #[[ALL]]], iterator_types = ["parallel", "parallel"]} ins(%[[G]], %[[MEAN]] : tensor<64x8xf32>, tensor<8xf32>)
// CHECK: arith.subf
// CHECK: return %[[C]]
func.func @center(%g: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %0 = geo.center %g : tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}

// CHECK-LABEL: func.func @dynamic
// CHECK: %[[M:.*]] = tensor.dim %{{.*}}, %c0{{.*}} : tensor<?x?xf32>
// CHECK: arith.sitofp %{{.*}} : i64 to f64
// CHECK-NOT: geo.center
func.func @dynamic(%g: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = geo.center %g
  return %0 : tensor<?x?xf32>
}

// Other ops are none of this pass's business.
// CHECK-LABEL: func.func @others
// CHECK: geo.max_row
func.func @others(%g: tensor<64x8xf32>, %r: f32) -> tensor<64x8xf32> {
  %0 = geo.max_row %g radius(%r) : tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}

// RUN: %limit steep-opt %s --transform-interpreter --canonicalize --cse | FileCheck %s

// A tile of rows takes the moments of these rows, in their one column.
// CHECK-LABEL: func.func @moments
// CHECK-SAME: (%[[X:[^:]*]]: tensor<64x32xf32>, %[[V:[^:]*]]: tensor<64x1xf32>)
// CHECK: scf.forall (%[[I:.*]]) in (8) shared_outs(%[[Y:.*]] = %{{.*}}, %[[W:.*]] = %{{.*}})
// CHECK-DAG: %[[XT:.*]] = tensor.extract_slice %[[X]][%{{.*}}, 0] [8, 32] [1, 1]
// CHECK-DAG: %[[VT:.*]] = tensor.extract_slice %[[V]][%{{.*}}, 0] [8, 1] [1, 1]
// CHECK: %[[YT:.*]], %[[WT:.*]] = geo.row_moment %[[XT]], %[[VT]] {beta = 0.9, eps = 1.0e-08} : tensor<8x32xf32>, tensor<8x1xf32>
// CHECK-DAG: tensor.parallel_insert_slice %[[YT]] into %[[Y]][%{{.*}}, 0] [8, 32] [1, 1]
// CHECK-DAG: tensor.parallel_insert_slice %[[WT]] into %[[W]][%{{.*}}, 0] [8, 1] [1, 1]
func.func @moments(%x: tensor<64x32xf32>, %v: tensor<64x1xf32>) -> (tensor<64x32xf32>, tensor<64x1xf32>) {
  %y, %v1 = geo.row_moment %x, %v {beta = 0.9, eps = 1.0e-8} : tensor<64x32xf32>, tensor<64x1xf32>
  return %y, %v1 : tensor<64x32xf32>, tensor<64x1xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["geo.row_moment"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %op tile_sizes [8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

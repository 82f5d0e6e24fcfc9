// RUN: %limit steep-opt %s --transform-interpreter --canonicalize --cse --split-input-file | FileCheck %s

// Elementwise ops are cut along both dimensions, the weight in place.
// CHECK-LABEL: func.func @elements
// CHECK-SAME: (%[[U:[^:]*]]: tensor<64x32xf32>, %[[S:[^:]*]]: tensor<64x32xf32>, %[[LR:[^:]*]]: f32)
// CHECK: scf.forall (%[[I:.*]], %[[J:.*]]) in (8, 2) shared_outs(%[[OUT:.*]] = %[[U]])
// CHECK-DAG: %[[UT:.*]] = tensor.extract_slice %[[OUT]][%{{.*}}, %{{.*}}] [8, 16] [1, 1]
// CHECK-DAG: %[[ST:.*]] = tensor.extract_slice %[[S]][%{{.*}}, %{{.*}}] [8, 16] [1, 1]
// CHECK: %[[T:.*]] = geo.apply %[[UT]], %[[ST]] decay(%[[LR]], %[[LR]]) : tensor<8x16xf32>
// CHECK: tensor.parallel_insert_slice %[[T]] into %[[OUT]]
func.func @elements(%u: tensor<64x32xf32>, %s: tensor<64x32xf32>, %lr: f32) -> tensor<64x32xf32> {
  %0 = geo.apply %u, %s decay(%lr, %lr) : tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["geo.apply"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %op tile_sizes [8, 16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Whole rows: the producer of the rows follows its consumer into the block, the
// last block being a smaller one.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%{{.*}}: tensor<65x32xf32>, %[[ALL:.*]]: tensor<65x32xf32>, %{{.*}}: f32)
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[U:.*]] = %{{.*}})
// CHECK: %[[SIZE:.*]] = affine.min
// CHECK: %[[G:.*]] = tensor.extract_slice %[[ALL]][%[[I]], 0] [%[[SIZE]], 32] [1, 1] : tensor<65x32xf32> to tensor<?x32xf32>
// CHECK: %[[S:.*]] = geo.max_row %[[G]] radius(%{{.*}}) : tensor<?x32xf32>
// CHECK: geo.apply %{{.*}}, %[[S]] : tensor<?x32xf32>
// CHECK-NOT: geo.max_row
func.func @rows(%u: tensor<65x32xf32>, %g: tensor<65x32xf32>, %lr: f32) -> tensor<65x32xf32> {
  %s = geo.max_row %g radius(%lr) : tensor<65x32xf32>
  %0 = geo.apply %u, %s : tensor<65x32xf32>
  return %0 : tensor<65x32xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["geo.apply"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.fuse %op tile_sizes [8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A tile that cuts rows gets no part of a row norm: the producer stays whole.
// CHECK-LABEL: func.func @cut_rows
// CHECK: geo.max_row %{{.*}} : tensor<64x32xf32>
// CHECK: scf.for
// CHECK-NOT: geo.max_row
// CHECK: geo.apply %{{.*}} : tensor<64x16xf32>
func.func @cut_rows(%u: tensor<64x32xf32>, %g: tensor<64x32xf32>, %lr: f32) -> tensor<64x32xf32> {
  %s = geo.max_row %g radius(%lr) : tensor<64x32xf32>
  %0 = geo.apply %u, %s : tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["geo.apply"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.fuse %op tile_sizes [0, 16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Results of another rank and several results.
// CHECK-LABEL: func.func @squares
// CHECK: scf.forall {{.*}} in (8) shared_outs(%[[OUT:.*]] = %{{.*}}) -> (tensor<64xf64>)
// CHECK: %[[SQ:.*]] = geo.row_squares %{{.*}} : tensor<8x32xf32>
// CHECK: tensor.parallel_insert_slice %[[SQ]] into %[[OUT]][%{{.*}}] [8] [1] : tensor<8xf64> into tensor<64xf64>
// CHECK-LABEL: func.func @momentum
// CHECK: scf.forall {{.*}} in (8)
// CHECK: %[[R:.*]], %[[N:.*]] = geo.momentum %{{.*}}, %{{.*}} {beta = 0.95, nesterov} : tensor<8x32xf32>
// CHECK-DAG: tensor.parallel_insert_slice %[[R]] into
// CHECK-DAG: tensor.parallel_insert_slice %[[N]] into
func.func @squares(%g: tensor<64x32xf32>) -> tensor<64xf64> {
  %0 = geo.row_squares %g : tensor<64x32xf32>
  return %0 : tensor<64xf64>
}
func.func @momentum(%b: tensor<64x32xf32>, %g: tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>) {
  %0:2 = geo.momentum %b, %g {beta = 0.95, nesterov} : tensor<64x32xf32>
  return %0#0, %0#1 : tensor<64x32xf32>, tensor<64x32xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %ops = transform.structured.match ops{["geo.row_squares", "geo.momentum"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_forall %ops tile_sizes [8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

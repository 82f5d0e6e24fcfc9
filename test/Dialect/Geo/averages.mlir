// RUN: %limit steep-opt %s | steep-opt | FileCheck %s
// RUN: %limit steep-opt %s --canonicalize | FileCheck %s --check-prefix=LAW

// CHECK-LABEL: func.func @poles
func.func @poles(%b: tensor<?x?xf32>, %g: tensor<?x?xf32>, %t: i64) {
  // CHECK: geo.switched_ema %{{.*}}, %{{.*}} step(%{{.*}}) {after = 0.85, beta = 0.95, switch_step = 1000}{{$}}
  %0 = geo.switched_ema %b, %g step(%t) {beta = 0.95, switch_step = 1000, after = 0.85}
  %b1 = tensor.cast %b : tensor<?x?xf32> to tensor<8x4xf32>
  // CHECK: geo.switched_ema {{.*}} : tensor<8x4xf32>
  %1 = geo.switched_ema %b1, %b1 step(%t) {beta = 0.95, switch_step = 0, after = 0} : tensor<8x4xf32>
  return
}

// CHECK-LABEL: func.func @mixtures
func.func @mixtures(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %t: i64) {
  // CHECK: geo.mix %{{.*}}, %{{.*}} {weights = [0.4385, 0.5615]}{{$}}
  %0 = geo.mix %a, %b {weights = [0.4385, 0.5615]}
  // CHECK: geo.mix %{{.*}}, %{{.*}}, %{{.*}} step(%{{.*}}) {anneal_steps = 9, end_weights = [1.0, 0.0, 0.0], start = 3, weights = [0.0, 0.25, 0.75]}{{$}}
  %1 = geo.mix %a, %b, %b step(%t)
      {weights = [0, 0.25, 0.75], end_weights = [1, 0, 0], start = 3, anneal_steps = 9}
  %c = tensor.cast %a : tensor<?x?xf32> to tensor<8x4xf32>
  // CHECK: geo.mix {{.*}} {weights = [0.5, 0.5]} : tensor<8x4xf32>
  %2 = geo.mix %c, %c {weights = [0.5, 0.5]} : tensor<8x4xf32>
  return
}

// An average that switches to its own rate does not switch.
// LAW-LABEL: func.func @one_rate
func.func @one_rate(%b: tensor<?x?xf32>, %g: tensor<?x?xf32>, %t: i64) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  // LAW: geo.ema %{{.*}}, %{{.*}} {beta = 0.95}
  %0 = geo.switched_ema %b, %g step(%t) {beta = 0.95, switch_step = 7, after = 0.95}
  // LAW: geo.switched_ema
  %1 = geo.switched_ema %b, %g step(%t) {beta = 0.95, switch_step = 7, after = 0.9}
  return %0, %1 : tensor<?x?xf32>, tensor<?x?xf32>
}

// LAW-LABEL: func.func @one_matrix
// LAW-SAME: %[[A:.*]]: tensor<?x?xf32>
// LAW-NEXT: return %[[A]] :
func.func @one_matrix(%a: tensor<?x?xf32>, %t: i64) -> tensor<?x?xf32> {
  %0 = geo.mix %a, %a step(%t)
      {weights = [0.5, 0.5], end_weights = [1, 0], start = 0, anneal_steps = 1}
  return %0 : tensor<?x?xf32>
}

// LAW-LABEL: func.func @weights_that_stay
// LAW-NEXT: geo.mix %{{.*}}, %{{.*}} {weights = [0.25, 0.75]}
func.func @weights_that_stay(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %t: i64) -> tensor<?x?xf32> {
  %0 = geo.mix %a, %b step(%t)
      {weights = [0.25, 0.75], end_weights = [0.25, 0.75], start = 1, anneal_steps = 9}
  return %0 : tensor<?x?xf32>
}

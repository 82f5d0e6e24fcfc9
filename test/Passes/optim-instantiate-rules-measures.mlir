// A rule that measures has two more functions, for callers who ask.
// RUN: %limit steep-opt %s --optim-instantiate-rules --optim-batch-parameters | FileCheck %s

// CHECK: optim.batch @r_8x4 update @r_8x4_update squares @squares_8x4 ["a", "b"] measured @r_8x4_measured, @r_8x4_update_measured ["certificate", "diameter"]
optim.spec @s {
  optim.group @all ["*"] uses @r lr 0.1
  optim.parameter "a" : tensor<8x4xf32> in @all
  optim.parameter "b" : tensor<8x4xf32> in @all
}
// CHECK: func.func @r_8x4({{.*}} -> (tensor<8x4xf32> {optim.role = "weight"}) attributes {optim.count = 2
// CHECK: func.func @r_8x4_measured({{.*}} -> (tensor<8x4xf32> {optim.role = "weight"}, tensor<f64> {optim.role = "measure"}, tensor<f64> {optim.role = "measure"}) attributes {optim.count = 2
// CHECK: func.func @r_8x4_update_measured({{.*}} -> (tensor<8x4xf32> {optim.role = "weight"}, tensor<8x4xf32> {optim.role = "update"}, tensor<f64> {optim.role = "measure"}, tensor<f64> {optim.role = "measure"}) attributes {optim.count = 2
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.common_ball %gc radius(%lr) {eps = 1.0e-8}
  %w1 = geo.apply %w, %s
  %ratio, %rows = geo.measure_certificate %gc
  %d = geo.measure_diameter %s
  optim.yield %w1 measures(%ratio "certificate", %d "diameter")
}

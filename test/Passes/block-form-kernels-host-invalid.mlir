// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics --block-form-kernels

// The host's solver is handed arguments of the step as they are.
func.func @radius(%w: tensor<40x8xf32> {optim.role = "weight"}, %g: tensor<40x8xf32> {optim.role = "gradient"},
    %lr: f32 {optim.role = "lr"}, %wd: f32 {optim.role = "wd"}, %clip: f32 {optim.role = "clip"}, %t: i64 {optim.role = "step"})
    -> (tensor<40x8xf32> {optim.role = "weight"}) attributes {optim.rule = "r", optim.count = 1 : i64} {
  %r = arith.mulf %lr, %lr : f32
  // expected-error @+1 {{expected every scalar to be an argument of the rule, such as its learning rate, and no slice of a matrix}}
  %s:3 = geo.row_diameter %g radius(%r) {form = "exact"} : tensor<40x8xf32>
  %w1 = geo.apply %w, %s#0 : tensor<40x8xf32>
  return %w1 : tensor<40x8xf32>
}

// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics --block-form-kernels

// The host's solver reads whole matrices.
func.func @slice(%w: tensor<40x8xf32> {optim.role = "weight"}, %g: tensor<40x8xf32> {optim.role = "gradient"},
    %lr: f32 {optim.role = "lr"}, %wd: f32 {optim.role = "wd"}, %clip: f32 {optim.role = "clip"}, %t: i64 {optim.role = "step"})
    -> (tensor<40x8xf32> {optim.role = "weight"}) attributes {optim.rule = "r", optim.count = 1 : i64} {
  %half = tensor.extract_slice %g[0, 0] [20, 8] [1, 1] : tensor<40x8xf32> to tensor<20x8xf32>
  // expected-error @+1 {{expected no slice of a matrix, but whole matrices, which the function of the host reads}}
  %s:3 = geo.row_diameter %half radius(%lr) {form = "exact"} : tensor<20x8xf32>
  %empty = tensor.empty() : tensor<40x8xf32>
  %whole = tensor.insert_slice %s#0 into %empty[0, 0] [20, 8] [1, 1] : tensor<20x8xf32> into tensor<40x8xf32>
  %w1 = geo.apply %w, %whole : tensor<40x8xf32>
  return %w1 : tensor<40x8xf32>
}

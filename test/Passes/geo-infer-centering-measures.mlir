// Facts reach certificates, and a measurement never brings a projection back.
// RUN: %limit steep-opt %s --geo-infer-centering | FileCheck %s
// RUN: %limit steep-opt %s --geo-infer-centering --geo-expand-spectral | FileCheck %s --check-prefix=SUMS

// CHECK-LABEL: func.func @facts(
// CHECK-NOT:     geo.center
// CHECK:         geo.measure_certificate %{{.*}} {assumes_centered} : tensor<64x8xf32>
// CHECK:         geo.dual_norm %{{.*}} {assumes_centered, ball = "common_ball"} : tensor<64x8xf32>
// CHECK:         geo.dual_norm %{{.*}} {ball = "max_row"} : tensor<64x8xf32>
// The column sums are looked at where a fact is relied on.
// SUMS-LABEL: func.func @facts(
// SUMS:         geo.row_squares
// SUMS:         iterator_types = ["reduction", "parallel"]
func.func @facts(%w: tensor<64x8xf32> {geo.facts = [#geo.shift_invariant], optim.role = "weight"},
                 %g: tensor<64x8xf32> {geo.facts = [#geo.zero_column_sum], optim.role = "gradient"},
                 %r: f32 {optim.role = "lr"})
    -> (tensor<64x8xf32> {optim.role = "weight"}, tensor<f64> {optim.role = "measure"},
        tensor<f64> {optim.role = "measure"}, tensor<f64> {optim.role = "measure"}, tensor<f64> {optim.role = "measure"}) {
  %s = geo.common_ball %g radius(%r) : tensor<64x8xf32>
  %w1 = geo.apply %w, %s : tensor<64x8xf32>
  %ratio, %rows = geo.measure_certificate %g : tensor<64x8xf32>
  %n = geo.dual_norm %g {ball = "common_ball"} : tensor<64x8xf32>
  %m = geo.dual_norm %g {ball = "max_row"} : tensor<64x8xf32>
  %d = geo.measure_diameter %s : tensor<64x8xf32>
  return %w1, %ratio, %n, %m, %d : tensor<64x8xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>
}

// Without a fact it centres by itself, as the step does.
// CHECK-LABEL: func.func @none(
// CHECK:         geo.measure_certificate %arg0 : tensor<64x8xf32>
// SUMS-LABEL: func.func @none(
// SUMS:         %[[C:.*]] = geo.center %arg0
// SUMS:         geo.row_squares %[[C]]
func.func @none(%g: tensor<64x8xf32> {optim.role = "gradient"}) -> (tensor<f64> {optim.role = "measure"}) {
  %ratio, %rows = geo.measure_certificate %g : tensor<64x8xf32>
  return %ratio : tensor<f64>
}

// So do bounds of the tension.
// CHECK-LABEL: func.func @tension(
// CHECK:         geo.measure_tension %arg0 {assumes_centered} : tensor<64x8xf32>
// SUMS-LABEL: func.func @tension(
// SUMS:         geo.row_squares
// SUMS:         iterator_types = ["reduction", "parallel"]
func.func @tension(%g: tensor<64x8xf32> {geo.facts = [#geo.zero_column_sum], optim.role = "gradient"})
    -> (tensor<f64> {optim.role = "measure"}) {
  %lower, %upper = geo.measure_tension %g : tensor<64x8xf32>
  return %upper : tensor<f64>
}

// RUN: %limit steep-opt %s --verify-roundtrip
// RUN: %limit steep-opt %s | FileCheck %s
// RUN: %limit steep-opt %s --canonicalize | FileCheck %s --check-prefix=CANON

// CHECK-LABEL: func.func @sums(
// CHECK:         geo.measure_certificate %{{.*}} : tensor<64x8xf32>
// CHECK:         geo.measure_tension %{{.*}} {assumes_centered} : tensor<64x8xf32>
// CHECK:         geo.measure_columns %{{.*}} : tensor<64x8xf32>
// CHECK:         geo.measure_decrease %{{.*}}, %{{.*}} : tensor<64x8xf32>
// CHECK:         geo.dual_norm %{{.*}} {ball = "common_ball"} : tensor<64x8xf32>
func.func @sums(%g: tensor<64x8xf32>, %s: tensor<64x8xf32>)
    -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) {
  %ratio, %rows = geo.measure_certificate %g : tensor<64x8xf32>
  %least, %most = geo.measure_tension %g {assumes_centered} : tensor<64x8xf32>
  %norm, %defect = geo.measure_columns %g : tensor<64x8xf32>
  %decrease = geo.measure_decrease %g, %s : tensor<64x8xf32>
  %dual = geo.dual_norm %g {ball = "common_ball"} : tensor<64x8xf32>
  return %ratio, %rows, %norm, %defect, %decrease, %dual
      : tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>
}

// Specs do not spell out tensor<?x?xf32>.
// CHECK-LABEL: func.func @host(
// CHECK:         geo.measure_diameter %{{.*}}{{$}}
// CHECK:         geo.measure_separation %{{.*}}{{$}}
// CHECK:         geo.measure_covering %{{.*}}{{$}}
// CHECK:         geo.measure_nuclear %{{.*}}{{$}}
// CHECK:         geo.measure_hilbert %{{.*}}, %{{.*}} : tensor<?x?xf32>, tensor<16x?xf32>
func.func @host(%s: tensor<?x?xf32>, %h: tensor<16x?xf32>) -> (tensor<f64>, tensor<f64>) {
  %d = geo.measure_diameter %s
  %a, %rho = geo.measure_separation %s
  %lower, %upper = geo.measure_covering %s
  %n = geo.measure_nuclear %s
  %rms = geo.measure_hilbert %s, %h : tensor<?x?xf32>, tensor<16x?xf32>
  return %d, %rms : tensor<f64>, tensor<f64>
}

// A certificate does not see the bias correction's factor.
// CANON-LABEL: func.func @factor(
// CANON-SAME:      %[[B:.*]]: tensor<64x8xf32>
// CANON-NEXT:    %[[R:.*]], %{{.*}} = geo.measure_certificate %[[B]]
// CANON-NEXT:    return %[[R]]
func.func @factor(%b: tensor<64x8xf32>, %t: i64) -> tensor<f64> {
  %c = geo.correct_bias %b, %t {beta = 0.9} : tensor<64x8xf32>
  %ratio, %rows = geo.measure_certificate %c : tensor<64x8xf32>
  return %ratio : tensor<f64>
}

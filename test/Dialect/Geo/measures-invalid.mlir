// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics

func.func @ball(%g: tensor<8x4xf32>) {
  // expected-error @+1 {{expected ball to be "max_row", "common_ball", "max_column", "sign" or "frobenius", but got "row"}}
  %n = geo.dual_norm %g {ball = "row"} : tensor<8x4xf32>
  return
}

// -----

func.func @spectral(%g: tensor<8x4xf32>) {
  // expected-error @+1 {{that of "spectral" is geo.measure_nuclear}}
  %n = geo.dual_norm %g {ball = "spectral"} : tensor<8x4xf32>
  return
}

// -----

func.func @widths(%s: tensor<8x4xf32>, %h: tensor<8x5xf32>) {
  // expected-error @+1 {{expected states as wide as the increment, 4, but got 5}}
  %n = geo.measure_hilbert %s, %h : tensor<8x4xf32>, tensor<8x5xf32>
  return
}

// -----

func.func @size(%s: tensor<8x65537xf32>) {
  // expected-error @+1 {{serves at most 4194304 rows and 65536 columns, but got 8x65537}}
  %n = geo.measure_diameter %s : tensor<8x65537xf32>
  return
}

// -----

func.func @setting(%s: tensor<8x4xf32>) {
  // expected-error @+1 {{unknown setting 'eps', expected none here}}
  %n = geo.measure_diameter %s {eps = 0.1} : tensor<8x4xf32>
  return
}

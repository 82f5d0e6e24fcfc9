// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics

func.func @exponent(%g: tensor<?x?xf32>, %r: f32) {
  // expected-error @+1 {{expected a decimal point in a number with an exponent, as in 1.0e-2}}
  %s = geo.max_row %g radius(%r) {eps = 1e-2}
  return
}

// -----

optim.spec @rate {
  // expected-error @+1 {{expected a decimal point in a number with an exponent, as in 1.0e-2}}
  optim.group @a ["*"] uses @r lr 4e-3
}

// -----

optim.spec @text {
  // expected-error @+1 {{expected a float (f64) for 'lr', but got "fast"}}
  optim.group @a ["*"] uses @r lr "fast"
}

// -----

func.func @rounds_to_one(%b: tensor<?x?xf32>, %g: tensor<?x?xf32>) {
  // expected-error @+1 {{expected beta to be less than 1 in f32 too, but 0.999999999 rounds to 1}}
  %0 = geo.ema %b, %g {beta = 0.999999999}
  return
}

// -----

optim.spec @no_number {
  // expected-error @+1 {{expected a float (f64) for 'lr', but got 'nan'}}
  optim.group @a ["*"] uses @r lr nan
}

// -----

optim.spec @alone {
  optim.group @a ["*"] uses @r lr 1 wd
// expected-error @+1 {{expected a float (f64) for 'wd', but got '}'}}
}

// -----

optim.spec @huge {
  // expected-error @+1 {{expected a decimal point in a number of more than 64 bits, as in 1.0e20}}
  optim.group @a ["*"] uses @r lr 99999999999999999999
}

// -----

func.func @huge_number(%g: tensor<?x?xf32>, %r: f32) {
  // expected-error @+1 {{expected a decimal point in a number of more than 64 bits, as in 1.0e20}}
  %s = geo.max_row %g radius(%r) {eps = -9223372036854775809}
  return
}

// -----

func.func @huge_count(%g: tensor<?x?xf32>, %r: f32) {
  // expected-error @+1 {{expected an integer (i64) for 'steps', but 9223372036854775808 has more than 64 bits}}
  %s = geo.spectral %g radius(%r) {schedule = "jordan", steps = 9223372036854775808, eps = 0}
  return
}

// -----

func.func @huge_counts(%g: tensor<?x?xf32>, %r: f32) {
  // expected-error @+1 {{expected a list of integers (i64) for 'restarts', but 99999999999999999999 has more than 64 bits}}
  %s = geo.spectral %g radius(%r) {schedule = "jordan", restarts = [2, 99999999999999999999]}
  return
}

// -----

optim.spec @huge_clause {
  // expected-error @+1 {{expected an integer (i64) for 'split', but 99999999999999999999 has more than 64 bits}}
  optim.group @a ["*"] uses @r lr 1 split [2, 99999999999999999999]
}

// -----

optim.spec @half_a_head {
  // expected-error @+1 {{expected an integer (i64) for 'per_head', but got '1.5'}}
  optim.group @a ["*"] uses @r lr 1 per_head 1.5
}

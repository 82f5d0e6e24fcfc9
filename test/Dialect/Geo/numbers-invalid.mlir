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
  // expected-error @+1 {{expected a float (f64), but got "fast"}}
  optim.group @a ["*"] uses @r lr "fast"
}

// -----

func.func @rounds_to_one(%b: tensor<?x?xf32>, %g: tensor<?x?xf32>) {
  // expected-error @+1 {{expected beta to be less than 1 in f32 too, but 0.999999999 rounds to 1}}
  %0 = geo.ema %b, %g {beta = 0.999999999}
  return
}

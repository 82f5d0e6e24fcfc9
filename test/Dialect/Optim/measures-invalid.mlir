// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics

optim.rule @name(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %w1 = geo.apply %w, %g
  %d = geo.measure_diameter %g
  // expected-error @+1 {{expected the name of a measure to be an identifier, but got "row diameter"}}
  optim.yield %w1 measures(%d "row diameter")
}

// -----

optim.rule @twice(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %w1 = geo.apply %w, %g
  %d = geo.measure_diameter %g
  // expected-error @+1 {{expected measures of different names, but "d" occurs twice}}
  optim.yield %w1 measures(%d "d", %d "d")
}

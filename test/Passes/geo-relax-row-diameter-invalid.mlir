// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics --pass-pipeline="builtin.module(func.func(geo-relax-row-diameter))"

func.func @bounds(%g: tensor<64x8xf32>, %r: f32) -> tensor<f64> {
  // expected-error @+1 {{with form = "relax" has no bounds; expected only its increment to be used}}
  %s:3 = geo.row_diameter %g radius(%r) {form = "relax"} : tensor<64x8xf32>
  return %s#1 : tensor<f64>
}

// -----

func.func @dynamic(%g: tensor<?x?xf32>, %r: f32) -> tensor<?x?xf32> {
  // expected-error @+1 {{expected a static shape, on which the guarantee depends, but got 'tensor<?x?xf32>'}}
  %s:3 = geo.row_diameter %g radius(%r) {form = "relax"}
  return %s#0 : tensor<?x?xf32>
}

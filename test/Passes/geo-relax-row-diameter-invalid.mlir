// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics --pass-pipeline="builtin.module(func.func(geo-relax-row-diameter))"

func.func @dynamic(%g: tensor<?x?xf32>, %r: f32) -> tensor<?x?xf32> {
  // expected-error @+1 {{expected a static shape, on which the guarantee depends, but got 'tensor<?x?xf32>'}}
  %s:3 = geo.row_diameter %g radius(%r) {form = "relax"}
  return %s#0 : tensor<?x?xf32>
}

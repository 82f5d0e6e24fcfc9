// RUN: %limit steep-opt %s --geo-expand-spectral --verify-diagnostics --split-input-file
// RUN: not steep-opt %s --geo-expand-spectral="pad-to=0" --split-input-file 2>&1 | FileCheck %s

// CHECK: error: expected option pad-to of geo-expand-spectral to be at least 1, but got 0
func.func @dynamic(%n: tensor<?x?xf32>, %r: f32) -> tensor<?x?xf32> {
  // expected-error@+1 {{'geo.spectral' op expected a static shape to be expanded, but got 'tensor<?x?xf32>'}}
  %s = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, eps = 1.0e-5}
  return %s : tensor<?x?xf32>
}

// -----

func.func @equidistant(%g: tensor<?x?xf32>, %r: f32) -> tensor<?x?xf32> {
  // expected-error@+1 {{expected a static shape to be expanded, but got 'tensor<?x?xf32>'}}
  %s = geo.equidistant %g radius(%r)
  return %s : tensor<?x?xf32>
}

// -----

func.func @equalize(%g: tensor<?x?xf32>, %r: f32) -> tensor<?x?xf32> {
  // expected-error@+1 {{expected a static shape to be expanded, but got 'tensor<?x?xf32>'}}
  %s = geo.equalize %g radius(%r)
  return %s : tensor<?x?xf32>
}

// RUN: %limit steep-opt %s --convert-geo-to-linalg --verify-diagnostics

func.func @dynamic(%n: tensor<?x?xf32>, %r: f32) -> tensor<?x?xf32> {
  // expected-error@+1 {{'geo.spectral' op cannot be written in linalg: expected a static shape, but got 'tensor<?x?xf32>'}}
  %s = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, eps = 1.0e-5}
  return %s : tensor<?x?xf32>
}

// What the decompositions compute, by MLIR's own interpreter of LLVM code and
// not by our kernels; the figures are worked out by hand.
//
// RUN: %limit steep-opt %s --geo-expand-spectral="pad-to=8" --convert-geo-to-linalg \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries" --convert-linalg-to-loops \
// RUN:   --convert-scf-to-cf --expand-strided-metadata --lower-affine \
// RUN:   --convert-math-to-llvm --convert-arith-to-llvm --finalize-memref-to-llvm \
// RUN:   --convert-func-to-llvm --convert-cf-to-llvm --reconcile-unrealized-casts \
// RUN:   -o %t.mlir
// RUN: mlir-runner %t.mlir -e main -entry-point-result=void \
// RUN:   -shared-libs=$(dirname $(command -v mlir-runner))/../lib/libmlir_runner_utils.so \
// RUN:   -shared-libs=$(dirname $(command -v mlir-runner))/../lib/libmlir_c_runner_utils.so | FileCheck %s

func.func private @printMemrefF32(%m: tensor<*xf32>)
func.func @print(%m: tensor<?x?xf32>) attributes {noinline} {
  %0 = tensor.cast %m : tensor<?x?xf32> to tensor<*xf32>
  call @printMemrefF32(%0) : (tensor<*xf32>) -> ()
  return
}

// Rows of 3, 4 at sizes 1e-20, 1e20 and 1/8, a zero row, and one whose squares
// are denormal in f32: RN is 0.6, 0.8, and zero stays zero with eps = 0.
func.func @rows() {
  %g = arith.constant dense<[[3.0e-20, 4.0e-20], [3.0e20, 4.0e20], [0.0, 0.0],
                             [-0.375, 0.5], [0.0, -1.0e-23]]> : tensor<5x2xf32>
  %r = arith.constant 10.0 : f32
  // CHECK: {{\[}}[0.6, 0.8],
  // CHECK-NEXT: [0.6, 0.8],
  // CHECK-NEXT: [0, 0],
  // CHECK-NEXT: [-0.6, 0.8],
  // CHECK-NEXT: [0, -1]]
  %0 = geo.normalize_rows %g : tensor<5x2xf32>
  %d0 = tensor.cast %0 : tensor<5x2xf32> to tensor<?x?xf32>
  call @print(%d0) : (tensor<?x?xf32>) -> ()
  // With eps = 0.625 the last but one is halved, tiny ones all but vanish.
  // CHECK: {{\[}}[-4.8e-19, -6.4e-19],
  // CHECK-NEXT: [-6, -8],
  // CHECK-NEXT: [-0, -0],
  // CHECK-NEXT: [3, -4],
  // CHECK-NEXT: [-0, 1.6e-22]]
  %1 = geo.max_row %g radius(%r) {eps = 0.625} : tensor<5x2xf32>
  %d1 = tensor.cast %1 : tensor<5x2xf32> to tensor<?x?xf32>
  call @print(%d1) : (tensor<?x?xf32>) -> ()
  return
}

// Columns 1 + 3 + 5 and 2 + 4 + 6; the mean row is 3, 4. Rows of the centred
// matrix are (-2, -2), 0 and (2, 2): the common ball's answer is -r of their
// directions, centred already.
func.func @centering() {
  %g = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %r = arith.constant 1.0 : f32
  // CHECK: {{\[}}[-2, -2],
  // CHECK-NEXT: [0, 0],
  // CHECK-NEXT: [2, 2]]
  %0 = geo.center %g : tensor<3x2xf32>
  %d0 = tensor.cast %0 : tensor<3x2xf32> to tensor<?x?xf32>
  call @print(%d0) : (tensor<?x?xf32>) -> ()
  // CHECK: {{\[}}[0.707107, 0.707107],
  // CHECK-NEXT: {{\[}}{{-?}}0, {{-?}}0],
  // CHECK-NEXT: [-0.707107, -0.707107]]
  %1 = geo.common_ball %g radius(%r) : tensor<3x2xf32>
  %d1 = tensor.cast %1 : tensor<3x2xf32> to tensor<?x?xf32>
  call @print(%d1) : (tensor<?x?xf32>) -> ()
  return
}

// 0.75 * 4 + 0.25 * 8 = 5; at t = 2 with beta 0.5: 3 / (1 - 0.25) = 4. Heavy
// ball: 0.5 * 4 + 8 = 10, ahead 0.5 * 10 + 8 = 13.
func.func @averages() {
  %b = arith.constant dense<4.0> : tensor<1x1xf32>
  %g = arith.constant dense<8.0> : tensor<1x1xf32>
  %c = arith.constant dense<3.0> : tensor<1x1xf32>
  %t = arith.constant 2 : i64
  // CHECK: {{\[}}[5]]
  %0 = geo.ema %b, %g {beta = 0.75} : tensor<1x1xf32>
  %d0 = tensor.cast %0 : tensor<1x1xf32> to tensor<?x?xf32>
  call @print(%d0) : (tensor<?x?xf32>) -> ()
  // CHECK: {{\[}}[4]]
  %1 = geo.correct_bias %c, %t {beta = 0.5} : tensor<1x1xf32>
  %d1 = tensor.cast %1 : tensor<1x1xf32> to tensor<?x?xf32>
  call @print(%d1) : (tensor<?x?xf32>) -> ()
  // CHECK: {{\[}}[10]]
  // CHECK: {{\[}}[13]]
  %2, %3 = geo.momentum %b, %g {beta = 0.5, nesterov} : tensor<1x1xf32>
  %d2 = tensor.cast %2 : tensor<1x1xf32> to tensor<?x?xf32>
  %d3 = tensor.cast %3 : tensor<1x1xf32> to tensor<?x?xf32>
  call @print(%d2) : (tensor<?x?xf32>) -> ()
  call @print(%d3) : (tensor<?x?xf32>) -> ()
  return
}

// beta1 = beta2 = 0.5, t = 1, zero state, g = 2: m = 1, v = 2; corrected 2 and
// 4; S = -0.1 * 2 / (2 + 0.5) = -0.08. With decay 1 - 0.1 * 5 = 0.5 a weight of
// 6 becomes 3 - 0.08.
func.func @adamw() {
  %z = arith.constant dense<0.0> : tensor<1x1xf32>
  %g = arith.constant dense<2.0> : tensor<1x1xf32>
  %u = arith.constant dense<6.0> : tensor<1x1xf32>
  %lr = arith.constant 0.1 : f32
  %wd = arith.constant 5.0 : f32
  %t = arith.constant 1 : i64
  // CHECK: {{\[}}[-0.08]]
  // CHECK: {{\[}}[1]]
  // CHECK: {{\[}}[2]]
  // CHECK: {{\[}}[2.92]]
  %s, %m, %v = geo.adamw %z, %z, %g lr(%lr) step(%t) {beta1 = 0.5, beta2 = 0.5, eps = 0.5} : tensor<1x1xf32>
  %u1 = geo.apply %u, %s decay(%lr, %wd) : tensor<1x1xf32>
  %d0 = tensor.cast %s : tensor<1x1xf32> to tensor<?x?xf32>
  %d1 = tensor.cast %m : tensor<1x1xf32> to tensor<?x?xf32>
  %d2 = tensor.cast %v : tensor<1x1xf32> to tensor<?x?xf32>
  %d3 = tensor.cast %u1 : tensor<1x1xf32> to tensor<?x?xf32>
  call @print(%d0) : (tensor<?x?xf32>) -> ()
  call @print(%d1) : (tensor<?x?xf32>) -> ()
  call @print(%d2) : (tensor<?x?xf32>) -> ()
  call @print(%d3) : (tensor<?x?xf32>) -> ()
  return
}

// Singular values 3 and 4, divided by 5. One jordan step takes 0.6 to
// 3.4445 0.6 - 4.7750 0.216 + 2.0315 0.07776 = 1.19327 and 0.8 to 0.976482;
// twelve cubic steps take both to 1.
func.func @spectral() {
  %wide = arith.constant dense<[[0.0, 3.0, 0.0], [4.0, 0.0, 0.0]]> : tensor<2x3xf32>
  %tall = arith.constant dense<[[0.0, 4.0], [3.0, 0.0], [0.0, 0.0]]> : tensor<3x2xf32>
  %zero = arith.constant dense<0.0> : tensor<3x2xf32>
  %r = arith.constant 1.0 : f32
  // CHECK: {{\[}}[{{-?}}0, -1.19327, {{-?}}0],
  // CHECK-NEXT: [-0.976482, {{-?}}0, {{-?}}0]]
  %0 = geo.spectral %wide radius(%r) {schedule = "jordan", steps = 1} : tensor<2x3xf32>
  %d0 = tensor.cast %0 : tensor<2x3xf32> to tensor<?x?xf32>
  call @print(%d0) : (tensor<?x?xf32>) -> ()
  // CHECK: {{\[}}[{{-?}}0, -1],
  // CHECK-NEXT: [-1, {{-?}}0],
  // CHECK-NEXT: {{\[}}{{-?}}0, {{-?}}0]]
  %1 = geo.spectral %tall radius(%r) {schedule = "cubic", steps = 12} : tensor<3x2xf32>
  %d1 = tensor.cast %1 : tensor<3x2xf32> to tensor<?x?xf32>
  call @print(%d1) : (tensor<?x?xf32>) -> ()
  // CHECK: {{\[}}[-0, -0],
  // CHECK-NEXT: [-0, -0],
  // CHECK-NEXT: [-0, -0]]
  %2 = geo.spectral %zero radius(%r) {schedule = "jordan", steps = 5} : tensor<3x2xf32>
  %d2 = tensor.cast %2 : tensor<3x2xf32> to tensor<?x?xf32>
  call @print(%d2) : (tensor<?x?xf32>) -> ()
  return
}

func.func @main() {
  call @rows() : () -> ()
  call @centering() : () -> ()
  call @averages() : () -> ()
  call @adamw() : () -> ()
  call @spectral() : () -> ()
  return
}

// RUN: %limit steep-opt %s --verify-diagnostics --split-input-file

func.func @sign_eps(%g: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.sign' op expected eps to be finite and at least 0, but got -1}}
  %0 = geo.sign %g radius(%r) {eps = -1.0} : tensor<4x2xf32>
  return
}

// -----

func.func @frobenius_eps(%g: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.frobenius' op expected eps below 1, but got 2}}
  %0 = geo.frobenius %g radius(%r) {eps = 2.0} : tensor<4x2xf32>
  return
}

// -----

func.func @max_column_eps(%g: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.max_column' op expected eps below 1, but got 2}}
  %0 = geo.max_column %g radius(%r) {eps = 2.0} : tensor<4x2xf32>
  return
}

// -----

func.func @moment_eps(%g: tensor<4x2xf32>, %v: tensor<4x1xf32>) {
  // expected-error@+1 {{'geo.row_moment' op expected eps to be positive}}
  %0, %1 = geo.row_moment %g, %v {beta = 0.9, eps = 0.0} : tensor<4x2xf32>, tensor<4x1xf32>
  return
}

// -----

func.func @moment_beta(%g: tensor<4x2xf32>, %v: tensor<4x1xf32>) {
  // expected-error@+1 {{'geo.row_moment' op expected beta in [0, 1), but got 1}}
  %0, %1 = geo.row_moment %g, %v {beta = 1.0, eps = 1.0e-8} : tensor<4x2xf32>, tensor<4x1xf32>
  return
}

// -----

func.func @moment_shape(%g: tensor<4x2xf32>, %v: tensor<2x1xf32>) {
  // expected-error@+1 {{'geo.row_moment' op expected one moment a row of 'tensor<4x2xf32>', in a matrix of one column, but got 'tensor<2x1xf32>'}}
  %0, %1 = geo.row_moment %g, %v {beta = 0.9, eps = 1.0e-8} : tensor<4x2xf32>, tensor<2x1xf32>
  return
}

// -----

func.func @cautious(%w: tensor<4x2xf32>, %s: tensor<4x2xf32>) {
  // expected-error@+1 {{'geo.apply' op expected decay(...) with cautious, which says what decays}}
  %0 = geo.apply %w, %s {cautious} : tensor<4x2xf32>
  return
}

// -----

func.func @form(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected form to be "standard", "gram" or "auto", but got "fast"}}
  %0 = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, form = "fast"} : tensor<4x2xf32>
  return
}

// -----

func.func @normalization(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected normalization to be "frobenius", "safety" or "scale_free", but got "nuclear"}}
  %0 = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, normalization = "nuclear"} : tensor<4x2xf32>
  return
}

// -----

func.func @no_safety(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected a safety factor for normalization "safety" to multiply the norm with}}
  %0 = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, normalization = "safety"} : tensor<4x2xf32>
  return
}

// -----

func.func @restarts_of_standard(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected restarts only with form "gram" or "auto"}}
  %0 = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, restarts = [2]} : tensor<4x2xf32>
  return
}

// -----

func.func @restarts_outside(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected restarts to ascend within 1..4, but got 5}}
  %0 = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, form = "gram", restarts = [5]} : tensor<4x2xf32>
  return
}

// -----

func.func @restarts_twice(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected restarts to ascend within 1..4, but got 2 after 2}}
  %0 = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, form = "gram", restarts = [2, 2]} : tensor<4x2xf32>
  return
}

// -----

func.func @restarts_sort(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{expected a list of integers (i64) for 'restarts', but got 3}}
  %0 = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, form = "gram", restarts = 3} : tensor<4x2xf32>
  return
}

// -----

// Rounding errors of BF16 operands grow by the slopes of the steps.
func.func @gram_bf16(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected a Gram form whose rounding errors are bounded by 0.0009765625, but with dot(bf16) and this schedule and these restarts they reach 0.0134550781; form "standard" has no such growth}}
  %0 = geo.spectral %n radius(%r) dot(bf16) {schedule = "jordan", steps = 3, form = "gram", restarts = [1, 2]} : tensor<4x2xf32>
  return
}

// -----

func.func @gram_long(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{with dot(ieee) and this schedule and these restarts they reach}}
  %0 = geo.spectral %n radius(%r) {schedule = "cubic", steps = 20, form = "gram", restarts = []} : tensor<4x2xf32>
  return
}

// -----

func.func @table_short(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected then = "repeat" or "cubic" to say what follows the last of 1 triples in 8 steps}}
  %0 = geo.spectral %n radius(%r) {schedule = [[2.0, -1.5, 0.5]], steps = 8} : tensor<4x2xf32>
  return
}

// -----

func.func @table_row(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected each triple of schedule to be [a, b, c], three numbers, but got [2.0, -1.5]}}
  %0 = geo.spectral %n radius(%r) {schedule = [[2.0, -1.5]], steps = 1} : tensor<4x2xf32>
  return
}

// -----

func.func @table_unsafe(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{but [[1.0, -2.0, 0.0]] with 1 steps maps 0.707106781 to}}
  %0 = geo.spectral %n radius(%r) {schedule = [[1.0, -2.0, 0.0]], steps = 1} : tensor<4x2xf32>
  return
}

// -----

func.func @table_text(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected each triple of schedule to be [a, b, c], three numbers, but got [2.0, "x", 1.000000e+00 : f32]}}
  %0 = geo.spectral %n radius(%r) {schedule = [[2, "x", 1.0 : f32]], steps = 1} : tensor<4x2xf32>
  return
}

// -----

func.func @table_of_numbers(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected each triple of schedule to be [a, b, c], three numbers, but got 2.0}}
  %0 = geo.spectral %n radius(%r) {schedule = [2, -1.5, 0.5], steps = 1} : tensor<4x2xf32>
  return
}

// -----

func.func @table_exponent(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{expected a decimal point in a number with an exponent, as in 1.0e-2}}
  %0 = geo.spectral %n radius(%r) {schedule = [[2, 1e-3, 0]], steps = 1} : tensor<4x2xf32>
  return
}

// -----

func.func @table_underflow(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected coefficients of schedule to be 0 or of a size in [1e-09, 10000], outside of which FP32 steps lose or magnify them, but got 1e-50 in triple 2}}
  %0 = geo.spectral %n radius(%r) {schedule = [[2, -1.5, 0.5], [1.5, -0.5, 1.0e-50]], steps = 2} : tensor<4x2xf32>
  return
}

// -----

func.func @table_denormal(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{but got 1e-30 in triple 1}}
  %0 = geo.spectral %n radius(%r) {schedule = [[1.0e-30, 0, 0]], steps = 2, then = "repeat"} : tensor<4x2xf32>
  return
}

// -----

func.func @table_bf16(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected coefficients of schedule to be 0 or of a size in [1e-09, 64], outside of which BF16 products lose or magnify them, but got -65 in triple 1}}
  %0 = geo.spectral %n radius(%r) dot(bf16) {schedule = [[32, -65, 33.5]], steps = 1} : tensor<4x2xf32>
  return
}

// -----

// 1e-6 in ten steps is 0 in f32.
func.func @table_vanishes(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected a schedule that maps singular values from 0.01 on to at least 0.001, which rounding errors of FP32 leave alone, but [[1.0e-06, 0.0, 0.0]] with 10 steps maps 0.01 to}}
  %0 = geo.spectral %n radius(%r) {schedule = [[1.0e-6, 0, 0]], steps = 10, then = "repeat"} : tensor<4x2xf32>
  return
}

// -----

// s (1 - s^2)^2 all but vanishes at 1: its sign there is one of rounding.
func.func @table_touches_zero(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{but [[1.00001, -2.0, 1.0]] with 1 steps maps 0.999998748 to 9.9999}}
  %0 = geo.spectral %n radius(%r) {schedule = [[1.00001, -2, 1]], steps = 1} : tensor<4x2xf32>
  return
}

// -----

func.func @table_safety(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected safety only with schedule polar_express, but got it with a schedule of triples}}
  %0 = geo.spectral %n radius(%r) {schedule = [[1.875, -1.25, 0.375]], steps = 1, safety = 1.01} : tensor<4x2xf32>
  return
}

// -----

func.func @then_of_named(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected then only with a schedule of triples: what follows the last one of you is fixed}}
  %0 = geo.spectral %n radius(%r) {schedule = "you", steps = 6, then = "cubic"} : tensor<4x2xf32>
  return
}

// -----

// Of oracles of every kind, and of what makes their radius.
func.func @radius(%g: tensor<4x2xf32>) {
  %nan = arith.constant 0x7FC00000 : f32
  // expected-error@+1 {{'geo.common_ball' op expected a finite radius, but got nan}}
  %0 = geo.common_ball %g radius(%nan) : tensor<4x2xf32>
  return
}

// -----

func.func @radius_of_max_row(%g: tensor<4x2xf32>) {
  %inf = arith.constant 0x7F800000 : f32
  // expected-error@+1 {{'geo.max_row' op expected a finite radius, but got inf}}
  %0 = geo.max_row %g radius(%inf) : tensor<4x2xf32>
  return
}

// -----

func.func @radius_of_frobenius(%g: tensor<4x2xf32>) {
  %inf = arith.constant 0x7F800000 : f32
  // expected-error@+1 {{'geo.frobenius' op expected a finite radius, but got inf}}
  %0 = geo.frobenius %g radius(%inf) : tensor<4x2xf32>
  return
}

// -----

func.func @radius_of_sign(%g: tensor<4x2xf32>) {
  %inf = arith.constant 0x7F800000 : f32
  // expected-error@+1 {{'geo.sign' op expected a finite radius, but got inf}}
  %0 = geo.sign %g radius(%inf) : tensor<4x2xf32>
  return
}

// -----

func.func @radius_of_max_column(%g: tensor<4x2xf32>) {
  %inf = arith.constant 0x7F800000 : f32
  // expected-error@+1 {{'geo.max_column' op expected a finite radius, but got inf}}
  %0 = geo.max_column %g radius(%inf) : tensor<4x2xf32>
  return
}

// -----

func.func @radius_of_spectral(%g: tensor<4x2xf32>) {
  %inf = arith.constant 0x7F800000 : f32
  // expected-error@+1 {{'geo.spectral' op expected a finite radius, but got inf}}
  %0 = geo.spectral %g radius(%inf) {schedule = "jordan", steps = 5} : tensor<4x2xf32>
  return
}

// -----

func.func @radius_of_equidistant(%g: tensor<4x2xf32>) {
  %inf = arith.constant 0x7F800000 : f32
  // expected-error@+1 {{'geo.equidistant' op expected a finite radius, but got inf}}
  %0 = geo.equidistant %g radius(%inf) : tensor<4x2xf32>
  return
}

// -----

func.func @radius_of_equalize(%g: tensor<4x2xf32>) {
  %inf = arith.constant 0x7F800000 : f32
  // expected-error@+1 {{'geo.equalize' op expected a finite radius, but got inf}}
  %0 = geo.equalize %g radius(%inf) : tensor<4x2xf32>
  return
}

// -----

func.func @radius_of_clipped_row(%g: tensor<4x2xf32>) {
  %inf = arith.constant 0x7F800000 : f32
  // expected-error@+1 {{'geo.clipped_row' op expected a finite radius, but got inf}}
  %0 = geo.clipped_row %g radius(%inf) {clip = 3.0} : tensor<4x2xf32>
  return
}

// -----

func.func @radius_of_shape_scale(%w: tensor<4x2xf32>) {
  %inf = arith.constant 0xFF800000 : f32
  // expected-error@+1 {{'geo.shape_scale' op expected a finite radius, but got -inf}}
  %0 = geo.shape_scale %inf, %w : tensor<4x2xf32>
  return
}

// -----

func.func @unused_triples(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected steps to be at least the number of triples, 2, but got 1, which leaves the last 1 unused}}
  %0 = geo.spectral %n radius(%r) {schedule = [[2, -1.5, 0.5], [2, -1.5, 0.5]], steps = 1} : tensor<4x2xf32>
  return
}

// -----

func.func @useless_then(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected then only with more steps than triples, but got then = "cubic" with 1 steps and 1 triples}}
  %0 = geo.spectral %n radius(%r) {schedule = [[2, -1.5, 0.5]], steps = 1, then = "cubic"} : tensor<4x2xf32>
  return
}

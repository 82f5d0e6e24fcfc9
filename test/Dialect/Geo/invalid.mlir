// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics

func.func @ema_beta(%b: tensor<4x2xf32>, %g: tensor<4x2xf32>) {
  // expected-error@+1 {{'geo.ema' op expected beta in [0, 1), but got 1}}
  %0 = geo.ema %b, %g {beta = 1.0} : tensor<4x2xf32>
  return
}

// -----

func.func @momentum_beta(%b: tensor<4x2xf32>, %g: tensor<4x2xf32>) {
  // expected-error@+1 {{'geo.momentum' op expected beta in [0, 1), but got -0.5}}
  %0 = geo.momentum %b, %g {beta = -0.5} : tensor<4x2xf32>
  return
}

// -----

func.func @momentum_results(%b: tensor<4x2xf32>, %g: tensor<4x2xf32>) {
  // expected-error@+1 {{'geo.momentum' op expected 2 results with nesterov, but got 1}}
  %0 = "geo.momentum"(%b, %g) {beta = 0.5, nesterov} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @momentum_lookahead(%b: tensor<4x2xf32>, %g: tensor<4x2xf32>) {
  // expected-error@+1 {{'geo.momentum' op expected 1 result without nesterov, but got 2}}
  %0:2 = "geo.momentum"(%b, %g) {beta = 0.5} : (tensor<4x2xf32>, tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>)
  return
}

// -----

func.func @momentum_types(%b: tensor<4x2xf32>, %g: tensor<2x4xf32>) {
  // expected-error@+1 {{'geo.momentum' op expected buffer, gradient and results of one type, 'tensor<4x2xf32>'}}
  %0 = "geo.momentum"(%b, %g) {beta = 0.5} : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @correct_bias_ahead(%b: tensor<4x2xf32>, %t: i64) {
  // expected-error@+1 {{'geo.correct_bias' op expected ahead in 0..1, but got -1}}
  %0 = geo.correct_bias %b, %t {ahead = -1 : i64, beta = 0.5} : tensor<4x2xf32>
  return
}

// -----

func.func @correct_bias_beta(%b: tensor<4x2xf32>, %t: i64) {
  // expected-error@+1 {{'geo.correct_bias' op expected beta in [0, 1), but got 1.5}}
  %0 = geo.correct_bias %b, %t {beta = 1.5} : tensor<4x2xf32>
  return
}

// -----

func.func @normalize_rows_eps(%g: tensor<4x2xf32>) {
  // expected-error@+1 {{'geo.normalize_rows' op expected eps to be finite and at least 0, but got -1e-08}}
  %0 = geo.normalize_rows %g {eps = -1.0e-8} : tensor<4x2xf32>
  return
}

// -----

func.func @max_row_eps(%g: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.max_row' op expected eps to be 0 or at least 1e-45, the smallest f32, but got 1e-60}}
  %0 = geo.max_row %g radius(%r) {eps = 1.0e-60} : tensor<4x2xf32>
  return
}

// -----

func.func @common_ball_eps(%g: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.common_ball' op expected eps to be finite and at least 0, but got nan}}
  %0 = geo.common_ball %g radius(%r) {eps = 0x7FF8000000000000 : f64} : tensor<4x2xf32>
  return
}

// -----

func.func @adamw_beta1(%m: tensor<4x2xf32>, %lr: f32, %t: i64) {
  // expected-error@+1 {{'geo.adamw' op expected beta1 in [0, 1), but got 9}}
  %0:3 = geo.adamw %m, %m, %m lr(%lr) step(%t) {beta1 = 9.0, beta2 = 0.999, eps = 1.0e-8} : tensor<4x2xf32>
  return
}

// -----

func.func @adamw_beta2(%m: tensor<4x2xf32>, %lr: f32, %t: i64) {
  // expected-error@+1 {{'geo.adamw' op expected beta2 in [0, 1), but got 1}}
  %0:3 = geo.adamw %m, %m, %m lr(%lr) step(%t) {beta1 = 0.9, beta2 = 1.0, eps = 1.0e-8} : tensor<4x2xf32>
  return
}

// -----

func.func @adamw_eps(%m: tensor<4x2xf32>, %lr: f32, %t: i64) {
  // expected-error@+1 {{'geo.adamw' op expected eps to be positive}}
  %0:3 = geo.adamw %m, %m, %m lr(%lr) step(%t) {beta1 = 0.9, beta2 = 0.999, eps = 0.0} : tensor<4x2xf32>
  return
}

// -----

func.func @adamw_no_eps(%m: tensor<4x2xf32>, %lr: f32, %t: i64) {
  // expected-error@+1 {{'geo.adamw' op requires attribute 'eps'}}
  %0:3 = geo.adamw %m, %m, %m lr(%lr) step(%t) {beta1 = 0.9, beta2 = 0.999} : tensor<4x2xf32>
  return
}

// -----

func.func @shape_scale_kind(%r: f32, %w: tensor<4x2xf32>) {
  // expected-error@+1 {{'geo.shape_scale' op expected kind to be one of "original", "original_columns", "ratio", "match_rms_adamw", "row_rms", "rms", "mean", but got "sqrt"}}
  %0 = geo.shape_scale %r, %w {kind = "sqrt"} : tensor<4x2xf32>
  return
}

// -----

func.func @apply_decay(%u: tensor<4x2xf32>, %lr: f32) {
  // expected-error@+1 {{'geo.apply' op expected decay to name both learning rate and decay}}
  %0 = "geo.apply"(%u, %u, %lr) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<4x2xf32>, tensor<4x2xf32>, f32) -> tensor<4x2xf32>
  return
}

// -----

func.func @apply_types(%u: tensor<4x2xf32>, %s: tensor<2x4xf32>) {
  // expected-error@+1 {{'geo.apply' op failed to verify that all of {weight, increment, result} have same type}}
  %0 = "geo.apply"(%u, %s) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @row_squares(%g: tensor<4x2xf32>) {
  // expected-error@+1 {{'geo.row_squares' op expected one value a row of 'tensor<4x2xf32>', but got 'tensor<2xf64>'}}
  %0 = "geo.row_squares"(%g) : (tensor<4x2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @rank(%g: tensor<4x2x1xf32>) {
  // expected-error@+1 {{'geo.center' op operand #0 must be 2D tensor of 32-bit float values, but got 'tensor<4x2x1xf32>'}}
  %0 = geo.center %g : tensor<4x2x1xf32>
  return
}

// -----

func.func @element(%g: tensor<4x2xf64>) {
  // expected-error@+1 {{'geo.center' op operand #0 must be 2D tensor of 32-bit float values, but got 'tensor<4x2xf64>'}}
  %0 = geo.center %g : tensor<4x2xf64>
  return
}

// -----

// A spec's type is not spelled out; another one has to be.
func.func @type(%g: tensor<4x2xf32>) { // expected-note {{prior use here}}
  // expected-error@+1 {{use of value '%g' expects different type than prior uses: 'tensor<?x?xf32>' vs 'tensor<4x2xf32>'}}
  %0 = geo.center %g
  return
}

// -----

func.func @schedule(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected schedule to be jordan, you, polar_express, samuon or cubic, but got "newton"}}
  %0 = geo.spectral %n radius(%r) {schedule = "newton", steps = 5} : tensor<4x2xf32>
  return
}

// -----

func.func @no_steps(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected steps of schedule jordan in 1..20, but got 0}}
  %0 = geo.spectral %n radius(%r) {schedule = "jordan", steps = 0} : tensor<4x2xf32>
  return
}

// -----

func.func @many_steps(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected steps of schedule cubic in 1..20, but got 21}}
  %0 = geo.spectral %n radius(%r) {schedule = "cubic", steps = 21} : tensor<4x2xf32>
  return
}

// -----

func.func @you_steps(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected steps of schedule you in 1..20, but got 21}}
  %0 = geo.spectral %n radius(%r) {schedule = "you", steps = 21} : tensor<4x2xf32>
  return
}

// -----

func.func @safety(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected safety only with schedule polar_express, but got it with you}}
  %0 = geo.spectral %n radius(%r) {schedule = "you", steps = 5, safety = 1.01} : tensor<4x2xf32>
  return
}

// -----

func.func @small_safety(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected safety in [1, 2], but got 0.9}}
  %0 = geo.spectral %n radius(%r) {schedule = "polar_express", steps = 5, safety = 0.9} : tensor<4x2xf32>
  return
}

// -----

func.func @spectral_large_safety(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected safety in [1, 2], but got 1e+300}}
  %0 = geo.spectral %n radius(%r) {schedule = "polar_express", steps = 20, safety = 1.0e300} : tensor<4x2xf32>
  return
}

// -----

func.func @large_eps(%g: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.max_row' op expected eps below 1, but got 1e+300}}
  %0 = geo.max_row %g radius(%r) {eps = 1.0e300} : tensor<4x2xf32>
  return
}

// -----

func.func @eps_of_one(%m: tensor<4x2xf32>, %lr: f32, %t: i64) {
  // expected-error@+1 {{'geo.adamw' op expected eps below 1, but got 1}}
  %0:3 = geo.adamw %m, %m, %m lr(%lr) step(%t) {beta1 = 0.9, beta2 = 0.999, eps = 1.0} : tensor<4x2xf32>
  return
}

// -----

func.func @spectral_eps(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected eps to be finite and at least 0, but got inf}}
  %0 = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, eps = 0x7FF0000000000000 : f64} : tensor<4x2xf32>
  return
}

// -----

// Without a safety factor, a singular value a little above 1 is thrown out.
func.func @unsafe(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected a schedule that maps singular values in (0, 1.001] into (0, 1.5], but "polar_express" with 5 steps maps 1.001 to 5.52339502e+20}}
  %0 = geo.spectral %n radius(%r) {schedule = "polar_express", steps = 5} : tensor<4x2xf32>
  return
}

// -----

// The margin is wider where operands are rounded to BF16.
func.func @unsafe_bf16(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{'geo.spectral' op expected a schedule that maps singular values in (0, 1.0078125] into (0, 1.5], but "polar_express" with 5 steps maps 1.0078125 to}}
  %0 = geo.spectral %n radius(%r) dot(bf16) {schedule = "polar_express", steps = 5, safety = 1.002} : tensor<4x2xf32>
  return
}

// -----

// Safe in f32 with the same safety factor.
func.func @safe_f32(%n: tensor<4x2xf32>, %r: f32) {
  %0 = geo.spectral %n radius(%r) {schedule = "polar_express", steps = 5, safety = 1.002} : tensor<4x2xf32>
  return
}

// -----

func.func @too_few_steps(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{but "polar_express" with 4 steps maps}}
  %0 = geo.spectral %n radius(%r) {schedule = "polar_express", steps = 4, safety = 1.05} : tensor<4x2xf32>
  return
}

// -----

func.func @dot(%n: tensor<4x2xf32>, %r: f32) {
  // expected-error@+1 {{expected ieee, tf32x3 or bf16, but got fp8}}
  %0 = geo.spectral %n radius(%r) dot(fp8) {schedule = "jordan", steps = 5} : tensor<4x2xf32>
  return
}

// -----

// expected-error@+1 {{'func.func' op argument #0: expected a fact (#geo.zero_column_sum, #geo.shift_invariant), but got "centred"}}
func.func @fact(%g: tensor<4x2xf32> {geo.facts = ["centred"]}) {
  return
}

// -----

// expected-error@+1 {{'func.func' op argument #1: expected 'geo.facts' to be an array of facts}}
func.func @facts(%lr: f32, %g: tensor<4x2xf32> {geo.facts = #geo.zero_column_sum}) {
  return
}

// -----

// expected-error@+1 {{'func.func' op argument #0: expected a matrix to have facts, but got 'f32'}}
func.func @fact_of_scalar(%lr: f32 {geo.facts = [#geo.zero_column_sum]}) {
  return
}

// -----

// expected-error@+1 {{'func.func' op argument #0: unknown attribute 'geo.fact', expected 'geo.facts'}}
func.func @fact_name(%g: tensor<4x2xf32> {geo.fact = []}) {
  return
}

// -----

// expected-error@+1 {{'func.func' op has 'geo.facts', which belongs to function arguments}}
func.func @fact_of_function() attributes {geo.facts = []} {
  return
}

// -----

// expected-error@+1 {{'func.func' op has unknown attribute 'geo.role'}}
func.func @unknown() attributes {geo.role = "x"} {
  return
}

// -----

// expected-error@+1 {{'func.func' op expected 'geo.dot' to be a #geo.dot, but got "bf16"}}
func.func @dot_attribute() attributes {geo.dot = "bf16"} {
  return
}

// -----

// expected-error@+1 {{'func.func' op expected 'geo.symmetric' to be a unit attribute, but got true}}
func.func @symmetric_attribute() attributes {geo.symmetric = true} {
  return
}

// -----

func.func @correct_bias_of_another(%b: tensor<4x2xf32>, %g: tensor<4x2xf32>, %t: i64) {
  %b1 = geo.ema %b, %g {beta = 0.95} : tensor<4x2xf32>
  // expected-error@+1 {{'geo.correct_bias' op expected the beta of the average that it corrects, 0.95, but got 0.9}}
  %0 = geo.correct_bias %b1, %t {beta = 0.9} : tensor<4x2xf32>
  return
}

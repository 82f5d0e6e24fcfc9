// Settings of geo ops: a name that an op does not know is refused, and so is a
// value of another sort.
// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics

func.func @misspelt_flag(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{unknown setting 'nestorov', expected one of 'beta', 'nesterov'}}
  %0 = geo.momentum %w, %w {beta = 0.95, nestorov}
  return
}

// -----

func.func @misspelt_kind(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{unknown setting 'knd', expected 'kind'}}
  %0 = geo.shape_scale %r, %w {knd = "original"}
  return
}

// -----

func.func @misspelt_eps(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{unknown setting 'epss', expected 'eps'}}
  %0 = geo.max_row %w radius(%r) {epss = 1.0}
  return
}

// -----

func.func @other_op(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{unknown setting 'beta', expected one of 'beta1', 'beta2', 'eps'}}
  %0:3 = geo.adamw %w, %w, %w lr(%r) step(%t) {beta = 0.9, beta2 = 0.99, eps = 1.0e-8}
  return
}

// -----

func.func @quoted(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{unknown setting 'epss', expected 'eps'}}
  %0 = geo.max_row %w radius(%r) {"epss" = 1.0}
  return
}

// -----

func.func @no_settings(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{unknown setting 'eps', expected none here}}
  %0 = geo.center %w {eps = 1.0}
  return
}

// -----

func.func @segments(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{unknown setting 'operandSegmentSizes', expected 'cautious'}}
  %0 = geo.apply %w, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0>}
  return
}

// -----

func.func @dot_in_braces(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{unknown setting 'dot', expected precision in front of the braces, as in dot(bf16)}}
  %0 = geo.spectral %w radius(%r) {schedule = "jordan", steps = 5, dot = 2}
  return
}

// -----

func.func @twice(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{setting 'eps' is given twice}}
  %0 = geo.max_row %w radius(%r) {eps = 0.1, eps = 0.2}
  return
}

// -----

func.func @bool_eps(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{expected a float (f64) for 'eps', but got true}}
  %0 = geo.max_row %w radius(%r) {eps = true}
  return
}

// -----

func.func @text_eps(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{expected a float (f64) for 'eps', but got "x"}}
  %0 = geo.common_ball %w radius(%r) {eps = "x"}
  return
}

// -----

func.func @unit_eps(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{expected a float (f64) for 'eps', but got unit}}
  %0 = geo.normalize_rows %w {eps}
  return
}

// -----

func.func @f32_eps(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{expected a float (f64) for 'eps', but got 1.000000e+00 : f32}}
  %0 = geo.normalize_rows %w {eps = 1.0 : f32}
  return
}

// -----

func.func @count_kind(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{expected a string for 'kind', but got 3}}
  %0 = geo.shape_scale %r, %w {kind = 3}
  return
}

// -----

func.func @float_steps(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{expected an integer (i64) for 'steps', but got 5.0}}
  %0 = geo.spectral %w radius(%r) {schedule = "jordan", steps = 5.0}
  return
}

// -----

func.func @count_schedule(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{expected a string or a list of triples for 'schedule', but got 3}}
  %0 = geo.spectral %w radius(%r) {schedule = 3, steps = 5}
  return
}

// -----

func.func @flag_value(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{expected no value for 'nesterov', but got true}}
  %0:2 = geo.momentum %w, %w {beta = 0.9, nesterov = true}
  return
}

// -----

func.func @integer_beta(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{'geo.ema' op expected beta in [0, 1), but got 1}}
  %0 = geo.ema %w, %w {beta = 1}
  return
}

// -----

func.func @bare_word(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{expected a string or a list of triples for 'schedule'}}
  %0 = geo.spectral %w radius(%r) {schedule = jordan, steps = 5}
  return
}

// -----

func.func @bare_kind(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{expected a string for 'kind'}}
  %0 = geo.shape_scale %r, %w {kind = ratio}
  return
}

// -----

func.func @no_value(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{expected a float (f64) for 'beta'}}
  %0 = geo.ema %w, %w {beta = }
  return
}

// -----

func.func @missing_beta(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{'geo.ema' op requires attribute 'beta'}}
  %0 = geo.ema %w, %w
  return
}

// -----

func.func @missing_schedule(%w: tensor<?x?xf32>, %r: f32, %t: i64) {
  // expected-error@+1 {{'geo.spectral' op requires attribute 'schedule'}}
  %0 = geo.spectral %w radius(%r) {steps = 5}
  return
}

// -----

// The generic form is held to the sorts too.
func.func @generic_eps(%w: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{invalid properties {eps = 1 : i64} for op geo.max_row: Invalid attribute `eps`}}
  %0 = "geo.max_row"(%w, %r) <{eps = 1}> : (tensor<?x?xf32>, f32) -> tensor<?x?xf32>
  return
}

// -----

func.func @generic_kind(%w: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{attribute 'kind' failed to satisfy constraint: string attribute}}
  %0 = "geo.shape_scale"(%r, %w) {kind = 3} : (f32, tensor<?x?xf32>) -> f32
  return
}

// -----

func.func @generic_beta(%w: tensor<?x?xf32>) {
  // expected-error@+1 {{invalid properties {beta = 1 : i64} for op geo.momentum: Invalid attribute `beta`}}
  %0 = "geo.momentum"(%w, %w) <{beta = 1}> : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @no_comma(%w: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{expected ',' or '}' behind 'schedule'}}
  %0 = geo.spectral %w radius(%r) {schedule = "jordan" steps = 5}
  return
}

// -----

func.func @no_dot(%w: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{expected ieee, tf32x3 or bf16}}
  %0 = geo.spectral %w radius(%r) dot() {schedule = "jordan", steps = 5}
  return
}

// -----

func.func @infinite(%w: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{expected a float (f64) for 'eps', but got 'inf'}}
  %0 = geo.max_row %w radius(%r) {eps = inf}
  return
}

// -----

func.func @look_ahead_without_name(%w: tensor<?x?xf32>) {
  // expected-error@+1 {{expected two results with nesterov, the momentum and its look-ahead, but 1 is named}}
  %0 = geo.momentum %w, %w {beta = 0.95, nesterov}
  return
}

// -----

func.func @look_ahead_unasked_for(%w: tensor<?x?xf32>) {
  // expected-error@+1 {{expected one result without nesterov, but 2 are named}}
  %0:2 = geo.momentum %w, %w {beta = 0.95}
  return
}

// -----

func.func @decay_of_one(%w: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{expected decay(LR, WD), learning rate and weight decay, but got ')'}}
  %0 = geo.apply %w, %w decay(%r)
  return
}

// -----

func.func @decay_without_parentheses(%w: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{expected decay(LR, WD), learning rate and weight decay, but got '%r'}}
  %0 = geo.apply %w, %w decay %r, %r
  return
}

// -----

func.func @unknown_op(%w: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{custom op 'geo.rownorm' is unknown; expected geo.adamw, geo.allocate, }}
  %0 = geo.rownorm %w radius(%r)
  return
}

// -----

func.func @misspelt_op(%w: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{custom op 'geo.maxrow' is unknown; did you mean 'geo.max_row'?}}
  %0 = geo.maxrow %w radius(%r)
  return
}

// -----

// expected-error@+1 {{unknown attribute '#geo.foo'; expected #geo.zero_column_sum, #geo.shift_invariant or #geo.dot}}
func.func @unknown_fact(%w: tensor<?x?xf32> {geo.facts = [#geo.foo]}) {
  return
}

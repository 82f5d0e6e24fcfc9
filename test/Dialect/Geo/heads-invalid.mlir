// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics

func.func @low_clip(%g: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{expected clip to be finite and at least 1, but got 0.5}}
  %0 = geo.clipped_row %g radius(%r) {clip = 0.5}
  return
}

// -----

func.func @no_clip(%g: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{requires attribute 'clip'}}
  %0 = geo.clipped_row %g radius(%r)
  return
}

// -----

func.func @negative_floor(%g: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{expected floor to be finite and at least 0, but got -1}}
  %0 = geo.equalize %g radius(%r) {floor = -1.0}
  return
}

// -----

func.func @order(%g: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{expected order to be "rows_columns" or "columns_rows", but got "rows"}}
  %0 = geo.equalize %g radius(%r) {order = "rows"}
  return
}

// -----

func.func @no_rounds(%g: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{expected rounds in 1..50, but got 0}}
  %0 = geo.equidistant %g radius(%r) {rounds = 0}
  return
}

// -----

func.func @few_steps(%g: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{expected steps in 5..20, but got 4}}
  %0 = geo.equidistant %g radius(%r) {steps = 4}
  return
}

// -----

func.func @sweeps(%g: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{expected repulsion in 0..50, but got -1}}
  %0 = geo.equidistant %g radius(%r) {repulsion = -1}
  return
}

// -----

func.func @distance(%g: tensor<?x?xf32>, %r: f32) {
  // expected-error@+1 {{expected distance in (0, 2], but got 2.5}}
  %0 = geo.equidistant %g radius(%r) {repulsion = 1, distance = 2.5}
  return
}

// -----

func.func @many_rows(%g: tensor<50257x64xf32>, %r: f32) {
  // expected-error@+1 {{expected at most 8192 rows with repulsion, which works on all pairs of them, but got 50257}}
  %0 = geo.equidistant %g radius(%r) {repulsion = 1} : tensor<50257x64xf32>
  return
}

// -----

func.func @gain(%m: tensor<?x?xf32>, %r: f32, %t: i64) {
  %s = geo.spectral %m radius(%r) {schedule = "samuon", steps = 4}
  // expected-error@+1 {{expected gain to be finite and at least 1, but got 0.5}}
  %0 = geo.allocate %s, %m radius(%r) step(%t) {gain = 0.5, rank = 1, rounds = 10}
  return
}

// -----

func.func @rank(%m: tensor<?x?xf32>, %r: f32, %t: i64) {
  %s = geo.spectral %m radius(%r) {schedule = "samuon", steps = 4}
  // expected-error@+1 {{expected rank in 1..256, but got 0}}
  %0 = geo.allocate %s, %m radius(%r) step(%t) {gain = 5.0, rank = 0, rounds = 10}
  return
}

// -----

func.func @rounds(%m: tensor<?x?xf32>, %r: f32, %t: i64) {
  %s = geo.spectral %m radius(%r) {schedule = "samuon", steps = 4}
  // expected-error@+1 {{expected rounds in 1..100, but got 101}}
  %0 = geo.allocate %s, %m radius(%r) step(%t) {gain = 5.0, rank = 1, rounds = 101}
  return
}

// -----

func.func @warmup(%m: tensor<?x?xf32>, %r: f32, %t: i64) {
  %s = geo.spectral %m radius(%r) {schedule = "samuon", steps = 4}
  // expected-error@+1 {{expected warmup_steps to be at least 0, but got -5}}
  %0 = geo.allocate %s, %m radius(%r) step(%t) {gain = 5.0, rank = 1, rounds = 10, warmup_steps = -5}
  return
}

// -----

func.func @no_spectral(%m: tensor<?x?xf32>, %r: f32, %t: i64) {
  %s = geo.max_row %m radius(%r)
  // expected-error@+1 {{expected the increment of a geo.spectral of the same matrix and radius}}
  %0 = geo.allocate %s, %m radius(%r) step(%t) {gain = 5.0, rank = 1, rounds = 10}
  return
}

// -----

func.func @another_matrix(%m: tensor<?x?xf32>, %n: tensor<?x?xf32>, %r: f32, %t: i64) {
  %s = geo.spectral %n radius(%r) {schedule = "samuon", steps = 4}
  // expected-error@+1 {{expected the increment of a geo.spectral of the same matrix and radius}}
  %0 = geo.allocate %s, %m radius(%r) step(%t) {gain = 5.0, rank = 1, rounds = 10}
  return
}

// -----

func.func @another_radius(%m: tensor<?x?xf32>, %r: f32, %q: f32, %t: i64) {
  %s = geo.spectral %m radius(%r) {schedule = "samuon", steps = 4}
  // expected-error@+1 {{expected the increment of a geo.spectral of the same matrix and radius}}
  %0 = geo.allocate %s, %m radius(%q) step(%t) {gain = 5.0, rank = 1, rounds = 10}
  return
}

// -----

// Five jordan steps leave singular values in [0.68, 1.2]: at gain 7.07 the head
// could get 7.07 (0.682 - 1) + 1 < 0.
func.func @coarse(%m: tensor<?x?xf32>, %r: f32, %t: i64) {
  %s = geo.spectral %m radius(%r) {schedule = "jordan", steps = 5}
  // expected-error@+1 {{expected a schedule that is fine enough for gain 7.07: with "jordan" of 5 steps a singular value in [0.02, 1.001] may become f = 0.68}}
  %0 = geo.allocate %s, %m radius(%r) step(%t) {gain = 7.07, rank = 1, rounds = 10}
  return
}

// -----

// The same schedule is fine enough for a small gain.
func.func @small_gain(%m: tensor<?x?xf32>, %r: f32, %t: i64) {
  %s = geo.spectral %m radius(%r) {schedule = "jordan", steps = 5}
  %0 = geo.allocate %s, %m radius(%r) step(%t) {gain = 3.0, rank = 1, rounds = 10}
  return
}

// -----

// Twenty steps take all of [0.02, 1.001] to 1, in exact arithmetic.
func.func @rounding(%m: tensor<?x?xf32>, %r: f32, %t: i64) {
  %s = geo.spectral %m radius(%r) {schedule = "cubic", steps = 20}
  // expected-error@+1 {{expected gain below 1048576, with which rounding errors of the products, here 9.53674316e-07, leave the sign of the head alone, but got 10000000}}
  %0 = geo.allocate %s, %m radius(%r) step(%t) {gain = 1.0e7, rank = 1, rounds = 10}
  return
}

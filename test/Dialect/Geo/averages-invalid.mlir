// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics

func.func @rate(%b: tensor<?x?xf32>, %t: i64) {
  // expected-error@+1 {{expected after in [0, 1), but got 1}}
  %0 = geo.switched_ema %b, %b step(%t) {beta = 0.95, switch_step = 3, after = 1.0}
  return
}

// -----

func.func @first_rate(%b: tensor<?x?xf32>, %t: i64) {
  // expected-error@+1 {{expected beta in [0, 1), but got -0.5}}
  %0 = geo.switched_ema %b, %b step(%t) {beta = -0.5, switch_step = 3, after = 0.5}
  return
}

// -----

func.func @negative_switch(%b: tensor<?x?xf32>, %t: i64) {
  // expected-error@+1 {{expected switch_step to be at least 0, but got -1}}
  %0 = geo.switched_ema %b, %b step(%t) {beta = 0.95, switch_step = -1, after = 0.5}
  return
}

// -----

func.func @one(%b: tensor<?x?xf32>) {
  // expected-error@+1 {{expected at least two matrices to mix, but got 1}}
  %0 = geo.mix %b {weights = [1.0]}
  return
}

// -----

func.func @count(%b: tensor<?x?xf32>) {
  // expected-error@+1 {{expected as many weights as matrices, 2, but got 3}}
  %0 = geo.mix %b, %b {weights = [0.5, 0.25, 0.25]}
  return
}

// -----

func.func @negative(%b: tensor<?x?xf32>) {
  // expected-error@+1 {{expected weights in [0, 1], but got -0.5}}
  %0 = geo.mix %b, %b {weights = [1.0, -0.5]}
  return
}

// -----

func.func @sum(%b: tensor<?x?xf32>) {
  // expected-error@+1 {{expected weights to sum to 1, but they sum to 1.0001}}
  %0 = geo.mix %b, %b {weights = [0.5, 0.5001]}
  return
}

// -----

func.func @end_sum(%b: tensor<?x?xf32>, %t: i64) {
  // expected-error@+1 {{expected end_weights to sum to 1, but they sum to 0.5}}
  %0 = geo.mix %b, %b step(%t) {weights = [0.5, 0.5], end_weights = [0.5, 0.0], start = 0, anneal_steps = 1}
  return
}

// -----

func.func @half(%b: tensor<?x?xf32>, %t: i64) {
  // expected-error@+1 {{expected step, end_weights, start and anneal_steps together, or none of them}}
  %0 = geo.mix %b, %b step(%t) {weights = [0.5, 0.5], end_weights = [0.5, 0.5], start = 0}
  return
}

// -----

func.func @no_steps(%b: tensor<?x?xf32>, %t: i64) {
  // expected-error@+1 {{expected anneal_steps to be at least 1, but got 0}}
  %0 = geo.mix %b, %b step(%t) {weights = [0.5, 0.5], end_weights = [0.5, 0.5], start = 0, anneal_steps = 0}
  return
}

// -----

func.func @early(%b: tensor<?x?xf32>, %t: i64) {
  // expected-error@+1 {{expected start to be at least 0, but got -3}}
  %0 = geo.mix %b, %b step(%t) {weights = [0.5, 0.5], end_weights = [0.5, 0.5], start = -3, anneal_steps = 5}
  return
}

// -----

func.func @no_list(%b: tensor<?x?xf32>) {
  // expected-error@+1 {{expected an array of floats (f64) for 'weights', but got 0.5}}
  %0 = geo.mix %b, %b {weights = 0.5}
  return
}

// -----

func.func @no_numbers(%b: tensor<?x?xf32>) {
  // expected-error@+1 {{expected an array of floats (f64) for 'weights', but got ["a", "b"]}}
  %0 = geo.mix %b, %b {weights = ["a", "b"]}
  return
}

// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics

func.func @form(%g: tensor<8x4xf32>, %r: f32) {
  // expected-error @+1 {{expected form to be "exact", "repair" or "relax", but got "best"}}
  %s:3 = geo.row_diameter %g radius(%r) {form = "best"} : tensor<8x4xf32>
  return
}

// -----

func.func @tolerance(%g: tensor<8x4xf32>, %r: f32) {
  // expected-error @+1 {{expected tolerance in [1e-12, 1), but got 0}}
  %s:3 = geo.row_diameter %g radius(%r) {form = "exact", tolerance = 0} : tensor<8x4xf32>
  return
}

// -----

func.func @tolerance_of_relax(%g: tensor<8x4xf32>, %r: f32) {
  // expected-error @+1 {{with form = "relax" takes no tolerance, but got 0.001}}
  %s:3 = geo.row_diameter %g radius(%r) {form = "relax", tolerance = 1.0e-3} : tensor<8x4xf32>
  return
}

// -----

func.func @tolerance_of_repair(%g: tensor<8x4xf32>, %r: f32) {
  // expected-error @+1 {{with form = "repair" takes no tolerance, but got 1e-06}}
  %s:3 = geo.row_diameter %g radius(%r) {form = "repair", tolerance = 1.0e-6} : tensor<8x4xf32>
  return
}

// -----

func.func @negative_radius(%g: tensor<8x4xf32>) {
  %r = arith.constant -1.0 : f32
  // expected-error @+1 {{expected a finite radius of at least 0, but got -1}}
  %s:3 = geo.row_diameter %g radius(%r) {form = "relax"} : tensor<8x4xf32>
  return
}

// -----

func.func @flipped_radius(%g: tensor<8x4xf32>, %lr: f32) {
  %rho = arith.constant -50.0 : f32
  %size = arith.mulf %rho, %lr : f32
  %r = geo.shape_scale %size, %g : tensor<8x4xf32>
  // expected-error @+1 {{expected a radius of at least 0, but got a number times a negative one}}
  %s:3 = geo.row_diameter %g radius(%r) {form = "relax"} : tensor<8x4xf32>
  return
}

// -----

func.func @infinite_radius(%g: tensor<8x4xf32>) {
  %r = arith.constant 0x7F800000 : f32
  // expected-error @+1 {{expected a finite radius of at least 0, but got inf}}
  %s:3 = geo.row_diameter %g radius(%r) {form = "exact"} : tensor<8x4xf32>
  return
}

// -----

func.func @stored_radius_of_relax(%g: tensor<8x4xf32>, %r: tensor<f32>) {
  // expected-error @+1 {{with form = "relax" expected a radius of type f32, but got 'tensor<f32>'}}
  %s:3 = geo.row_diameter %g radius(%r : tensor<f32>) {form = "relax"} : tensor<8x4xf32>
  return
}

// -----

func.func @steps_of_relax(%g: tensor<8x4xf32>, %r: f32) {
  // expected-error @+1 {{with form = "relax" takes no steps, but got 3}}
  %s:3 = geo.row_diameter %g radius(%r) {form = "relax", steps = 3} : tensor<8x4xf32>
  return
}

// -----

func.func @steps(%g: tensor<8x4xf32>, %r: f32) {
  // expected-error @+1 {{expected steps in [1, 100000], but got -1}}
  %s:3 = geo.row_diameter %g radius(%r) {form = "exact", steps = -1} : tensor<8x4xf32>
  return
}

// -----

func.func @size(%g: tensor<50257x512xf32>, %r: f32) {
  // expected-error @+1 {{with form = "exact" serves at most 4096 rows and 4096 columns, but got 50257x512; alternatives are form = "repair", feasible in a few sweeps over all pairs, and form = "relax", the common ball with its guarantee}}
  %s:3 = geo.row_diameter %g radius(%r) {form = "exact"} : tensor<50257x512xf32>
  return
}

// -----

func.func @repair(%g: tensor<8x70000xf32>, %r: f32) {
  // expected-error @+1 {{with form = "repair" serves at most 4194304 rows and 65536 columns, but got 8x70000; an alternative is form = "relax"}}
  %s:3 = geo.row_diameter %g radius(%r) {form = "repair"} : tensor<8x70000xf32>
  return
}

// -----

func.func @eps(%g: tensor<8x4xf32>, %r: f32) {
  // expected-error @+1 {{unknown setting 'eps', expected one of 'form', 'steps', 'tolerance'}}
  %s:3 = geo.row_diameter %g radius(%r) {form = "exact", eps = 1.0e-8} : tensor<8x4xf32>
  return
}

// -----

// expected-error @+1 {{expected 'geo.guarantee' to be an f64 in (0, 1], but got 2.000000e+00}}
func.func @guarantee() attributes {geo.guarantee = 2.0 : f64} {
  return
}

// RUN: %limit steep-opt %s --split-input-file --block-form-kernels --verify-diagnostics

func.func @whole(%w: tensor<8x4xf32> {optim.role = "weight"}) -> (tensor<8x4xf32> {optim.role = "weight"}) {
  // expected-error@+1 {{'geo.center' op cannot be cut into blocks; expected it to be expanded before kernels are formed}}
  %0 = geo.center %w : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @dynamic(%w: tensor<?x4xf32> {optim.role = "weight"}) -> (tensor<?x4xf32> {optim.role = "weight"}) {
  // expected-error@+1 {{'geo.normalize_rows' op works on a tensor of unknown size; expected kernels to be formed of instantiated rules}}
  %0 = geo.normalize_rows %w : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

// expected-error@+1 {{'func.func' op has no argument that result #0 replaces; expected optim.role = "weight", "state", "update", "squares", "gradient_mean" or "measure" and an argument of the same role}}
func.func @homeless(%g: tensor<8x4xf32> {optim.role = "gradient"}) -> (tensor<8x4xf32> {optim.role = "state"}) {
  %0 = geo.normalize_rows %g : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// expected-error@+1 {{'func.func' op has no argument that result #0 replaces}}
func.func @nameless(%w: tensor<8x4xf32> {optim.role = "weight"}) -> tensor<8x4xf32> {
  %0 = geo.normalize_rows %w : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// expected-error@+1 {{'func.func' op expected result #0 to have the type 'tensor<4x8xf32>' of the argument it replaces, got 'tensor<8x4xf32>'}}
func.func @misfit(%w: tensor<4x8xf32> {optim.role = "weight"}, %g: tensor<8x4xf32> {optim.role = "gradient"}) -> (tensor<8x4xf32> {optim.role = "weight"}) {
  %0 = geo.normalize_rows %g : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @insert(%w: tensor<8x8xf32> {optim.role = "weight"}, %g: tensor<4x8xf32> {optim.role = "gradient"}) -> (tensor<8x8xf32> {optim.role = "weight"}) {
  %0 = geo.normalize_rows %g : tensor<4x8xf32>
  // expected-error@+1 {{'tensor.insert_slice' op writes into a tensor that has other uses; expected a fill, an empty tensor or a result that is used here alone}}
  %1 = tensor.insert_slice %0 into %w[0, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  %2 = geo.apply %w, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// expected-error@+1 {{'func.func' op expected a body of one block}}
func.func @blocks(%w: tensor<8x8xf32> {optim.role = "weight"}) -> (tensor<8x8xf32> {optim.role = "weight"}) {
  cf.br ^end
^end:
  return %w : tensor<8x8xf32>
}

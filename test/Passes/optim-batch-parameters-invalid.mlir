// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics --optim-batch-parameters

optim.spec @s {
  optim.parameter "a" : tensor<8x4xf32>
  // expected-error@+1 {{names @f, which is no function of the module}}
  optim.batch @f update @f squares @f ["a"]
}

// -----

optim.spec @s {
  optim.parameter "a" : tensor<8x4xf32>
  // expected-error@+1 {{names @f_update, which is no function of the module}}
  optim.batch @f update @f_update squares @f ["a"]
}
func.func private @f(tensor<8x4xf32>)

// -----

optim.spec @s {
  optim.parameter "a" : tensor<8x4xf32>
  // expected-error@+1 {{names @q, which is no function of the module}}
  optim.batch @f update @f squares @q ["a"]
}
func.func private @f(tensor<8x4xf32>)

// -----

optim.spec @s {
  optim.parameter "a" : tensor<8x4xf32>
  optim.parameter "b" : tensor<4x8xf32>
  optim.batch @f update @f squares @f ["a"]
  // expected-error@+1 {{names @f, which updates 'tensor<8x4xf32>', but 'b' has type 'tensor<4x8xf32>'}}
  optim.batch @f update @f squares @f ["b"]
}
func.func private @f(tensor<8x4xf32>)

// -----

optim.spec @s {
  optim.parameter "a" : tensor<8x4xf32>
  // expected-error@+1 {{names @f, which takes no weight}}
  optim.batch @f update @f squares @f ["a"]
}
func.func private @f()

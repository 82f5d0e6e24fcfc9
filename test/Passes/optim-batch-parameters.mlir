// RUN: %limit steep-opt %s --optim-batch-parameters | FileCheck %s

// Batches of one function are joined where the first stood, in the order of
// the parameters; the functions say how many matrices they get.

// CHECK-LABEL: optim.spec @s
// CHECK:         optim.parameter "d"
// CHECK-NEXT:    optim.batch @f update @f_update squares @q ["c", "a", "d"]
// CHECK-NEXT:    optim.batch @e update @e_update squares @q ["b"]
// CHECK-NEXT:  }
optim.spec @s {
  optim.bound_group @g uses "r" lr 0.1
  optim.parameter "a" : tensor<8x4xf32> in @g
  optim.parameter "b" : tensor<8x4xf32> in @g
  optim.parameter "c" : tensor<8x4xf32> in @g
  optim.parameter "d" : tensor<8x4xf32> in @g
  optim.batch @f update @f_update squares @q ["c"]
  optim.batch @e update @e_update squares @q ["b"]
  optim.batch @f update @f_update squares @q ["a"]
  optim.batch @f update @f_update squares @q ["d"]
}
// CHECK: func.func private @f(tensor<8x4xf32>) attributes {optim.count = 3 : i64}
func.func private @f(tensor<8x4xf32>) attributes {optim.count = 1 : i64}
// CHECK: func.func private @f_update(tensor<8x4xf32>) attributes {optim.count = 3 : i64}
func.func private @f_update(tensor<8x4xf32>)
// CHECK: func.func private @e(tensor<8x4xf32>) attributes {optim.count = 1 : i64}
func.func private @e(tensor<8x4xf32>)
// CHECK: func.func private @e_update(tensor<8x4xf32>) attributes {optim.count = 1 : i64}
func.func private @e_update(tensor<8x4xf32>)
// CHECK: func.func private @q(tensor<8x4xf32>){{$}}
func.func private @q(tensor<8x4xf32>)

// RUN: %limit steep-opt %s | FileCheck %s
// RUN: %limit steep-opt %s | steep-opt | FileCheck %s
// RUN: %limit steep-opt %s --mlir-print-op-generic | steep-opt | FileCheck %s
// RUN: %limit steep-opt %s --emit-bytecode | steep-opt | FileCheck %s

// CHECK-LABEL: optim.spec @full
// CHECK-SAME:    schedule(#optim.warmup_cosine<warmup = 0.1, floor = 0.05>)
// CHECK-SAME:    clip(#optim.global_norm<1.5>) nonfinite(error) attributes {note = "x"} {
optim.spec @full schedule(#optim.warmup_cosine<warmup = 0.1, floor = 0.05>)
                 clip(#optim.global_norm<1.5>) nonfinite(error)
                 attributes {note = "x"} {
  // CHECK-NEXT: optim.group @a ["blocks.*", "extra"] uses @sgd lr 0.008 wd 0.1
  optim.group @a ["blocks.*", "extra"] uses @sgd lr 8.0e-3 wd 0.1
  // CHECK-NEXT: optim.group @b ["head"] uses @two lr 1.0e-07 facts(#geo.zero_column_sum, #geo.shift_invariant)
  optim.group @b ["head"] uses @two lr 1.0e-7
    facts(#geo.zero_column_sum, #geo.shift_invariant)
  // CHECK-NEXT: optim.parameter "head" : tensor<8x4xf32> in @b
  optim.parameter "head" : tensor<8x4xf32> in @b
  // CHECK-NEXT: optim.parameter "tied" : tensor<8x4xf32> in @b aliases "head"
  optim.parameter "tied" : tensor<8x4xf32> in @b aliases "head"
  // CHECK-NEXT: optim.parameter "free" : tensor<3xbf16>
  optim.parameter "free" : tensor<3xbf16>
}

// Clauses stand in any order, and numbers may be integers.
// CHECK-LABEL: optim.spec @any_order schedule(#optim.warmup_cosine<warmup = 0.0, floor = 1.0>) clip(#optim.global_norm<2.0>) nonfinite(error) {
optim.spec @any_order nonfinite(error) clip(#optim.global_norm<2>)
                      schedule(#optim.warmup_cosine<warmup = 0, floor = 1>) {
}

// What is not said has its default, and the default is not printed.
// CHECK-LABEL: optim.spec @bound {
optim.spec @bound nonfinite(skip) {
  // CHECK-NEXT: optim.bound_group @a uses "sgd" lr 0.008 wd 0.1
  optim.bound_group @a uses "sgd" lr 8.0e-3 wd 0.1
  // CHECK-NEXT: optim.bound_group @b uses "two" lr 0.0{{$}}
  optim.bound_group @b uses "two" lr 0.0 wd 0.0
  // CHECK-NEXT: optim.parameter "x" : tensor<8x4xf32> in @a
  optim.parameter "x" : tensor<8x4xf32> in @a
  // CHECK-NEXT: optim.batch @f update @f_update squares @q ["x"]
  optim.batch @f update @f_update squares @q ["x"]
}

// States give their names to the arguments. These remember the last gradient and
// the one before: the state that is only handed on is read by that.
// CHECK-LABEL: optim.rule @two
// CHECK-SAME:    (%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
// CHECK-SAME:    state(%exp_avg "exp_avg": tensor<?x?xf32>, %exp_avg_sq "exp_avg_sq": tensor<?x?xf32>) {
optim.rule @two(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%m "exp_avg": tensor<?x?xf32>, %v "exp_avg_sq": tensor<?x?xf32>) {
  // CHECK-NEXT: %lr, %wd, %clip, %t = optim.scalars %h
  %lr, %wd, %clip, %t = optim.scalars %h
  // CHECK-NEXT: %[[W:.*]] = geo.apply %w, %exp_avg_sq
  %w1 = geo.apply %w, %v
  // CHECK-NEXT: optim.yield %[[W]], %g, %exp_avg{{$}}
  optim.yield %w1, %g, %m
}

// CHECK-LABEL: optim.rule @sgd
// CHECK-SAME:    (%w: tensor<8x4xf32>, %g: tensor<8x4xf32>, %h: !optim.scalars) {
optim.rule @sgd(%w: tensor<8x4xf32>, %g: tensor<8x4xf32>, %h: !optim.scalars) {
  // CHECK-NEXT: optim.yield %w : tensor<8x4xf32>
  optim.yield %w : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @f(
// CHECK-SAME:    {optim.convention = "ema", optim.role = "state", optim.state = "momentum_buffer"}
func.func @f(%w: tensor<8x4xf32> {optim.convention = "ema", optim.role = "state", optim.state = "momentum_buffer"})
    -> (tensor<8x4xf32> {optim.role = "update"}) {
  return %w : tensor<8x4xf32>
}

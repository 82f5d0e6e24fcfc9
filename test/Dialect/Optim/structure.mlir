// RUN: %limit steep-opt %s --verify-roundtrip | FileCheck %s
// RUN: %limit steep-opt %s --optim-bind-parameters --optim-instantiate-rules --optim-batch-parameters | FileCheck %s --check-prefix=BOUND

// CHECK: optim.group @qkv ["*.qkv"] uses @sgd lr 0.1 split [8, 4, 4]
// CHECK: optim.group @heads ["*.q"] uses @sgd lr 0.1 per_head 4
// CHECK: optim.group @experts ["*.experts"] uses @sgd lr 0.1 stacked
// CHECK: optim.group @conv ["*.conv"] uses @sgd lr 0.1 convolution
// CHECK: optim.group @columns ["*.fused"] uses @sgd lr 0.1 split [4, 8] axis 1
// CHECK: optim.group @across ["*.across"] uses @sgd lr 0.1 per_head 3 axis 1 stacked
// CHECK: optim.group @packed ["*.packed"] uses @sgd lr 0.1 split [4, 8] stacked
// In any order:
// CHECK: optim.group @head ["head"] uses @sgd lr 0.1 wd 0.5 facts(#geo.shift_invariant, #geo.zero_column_sum)

// Blocks of one shape are one batch, whatever parameter they are part of; the
// parameters stay whole.
// BOUND: optim.parameter "a.qkv" : tensor<16x6xf32> in @qkv
// BOUND: optim.parameter "a.experts" : tensor<2x8x6xf32> in @experts
// BOUND: optim.batch @sgd_8x6 update @sgd_8x6_update squares @squares_8x6 ["a.qkv", "a.experts", "a.experts", "a.packed", "a.packed"] rows [0, 0, 8, 4, 16]
// BOUND: optim.batch @sgd_4x6 update @sgd_4x6_update squares @squares_4x6 ["a.qkv", "a.qkv", "a.q", "a.q", "a.packed", "a.packed"] rows [8, 12, 0, 4, 0, 12]
// BOUND: optim.batch @sgd_8x4 update @sgd_8x4_update squares @squares_8x4 ["a.fused", "b.fused"] rows [0, 0] columns [0, 0]
// BOUND: optim.batch @sgd_8x8 update @sgd_8x8_update squares @squares_8x8 ["a.fused", "b.fused"] rows [0, 0] columns [4, 4]
// BOUND: optim.batch @sgd_5x3 update @sgd_5x3_update squares @squares_5x3 ["a.across", "a.across", "a.across", "a.across"] rows [0, 0, 5, 5] columns [0, 3, 0, 3]
// BOUND: optim.batch @sgd_5x12 update @sgd_5x12_update squares @squares_5x12 ["a.conv"]{{$}}
// BOUND: optim.batch @sgd_7x6 update @sgd_7x6_update squares @squares_7x6 ["head"]
optim.spec @structure {
  optim.group @qkv ["*.qkv"] uses @sgd lr 0.1 split [8, 4, 4]
  optim.group @heads ["*.q"] uses @sgd lr 0.1 per_head 4
  optim.group @experts ["*.experts"] uses @sgd lr 0.1 stacked
  optim.group @conv ["*.conv"] uses @sgd lr 0.1 convolution
  optim.group @columns ["*.fused"] uses @sgd lr 0.1 split [4, 8] axis 1
  optim.group @across ["*.across"] uses @sgd lr 0.1 stacked axis 1 per_head 3
  optim.group @packed ["*.packed"] uses @sgd lr 0.1 stacked split [4, 8]
  optim.group @head ["head"] uses @sgd lr 0.1 facts(#geo.shift_invariant, #geo.zero_column_sum) wd 0.5
  optim.parameter "a.qkv" : tensor<16x6xf32>
  optim.parameter "a.q" : tensor<8x6xf32>
  optim.parameter "a.experts" : tensor<2x8x6xf32>
  optim.parameter "a.fused" : tensor<8x12xf32>
  optim.parameter "b.fused" : tensor<8x12xf32>
  optim.parameter "a.across" : tensor<2x5x6xf32>
  optim.parameter "a.conv" : tensor<5x3x2x2xf32>
  optim.parameter "a.packed" : tensor<2x12x6xf32>
  optim.parameter "head" : tensor<7x6xf32>
}

optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s = geo.scale %gc, %lr
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1
}

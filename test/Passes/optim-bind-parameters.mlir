// RUN: %limit steep-opt %s --split-input-file --optim-bind-parameters | FileCheck %s

// The order of groups has no meaning; `*` takes dots and nothing at all.
// CHECK-LABEL: optim.spec @globs
optim.spec @globs {
  optim.group @head   ["lm_head.weight"]            uses @decayed lr 0.1 wd 0.1
  optim.group @blocks ["blocks.*.attn.*", "mlp*up"] uses @plain   lr 0.1
  optim.group @stars  ["*.a*a*b", "**end**"]        uses @plain   lr 0.1
  // CHECK: optim.parameter "blocks.0.attn.q.weight" : tensor<8x8xf32> in @blocks
  optim.parameter "blocks.0.attn.q.weight" : tensor<8x8xf32>
  // CHECK-NEXT: optim.parameter "mlpup" : tensor<8x8xf32> in @blocks
  optim.parameter "mlpup" : tensor<8x8xf32>
  // CHECK-NEXT: optim.parameter "mlp.x.up" : tensor<8x8xf32> in @blocks
  optim.parameter "mlp.x.up" : tensor<8x8xf32>
  // CHECK-NEXT: optim.parameter "x.ababab" : tensor<8x8xf32> in @stars
  optim.parameter "x.ababab" : tensor<8x8xf32>
  // CHECK-NEXT: optim.parameter "end" : tensor<1x1xf32> in @stars
  optim.parameter "end" : tensor<1x1xf32>
  // CHECK-NEXT: optim.parameter "lm_head.weight" : tensor<8x4xf32> in @head
  optim.parameter "lm_head.weight" : tensor<8x4xf32>
}
optim.rule @plain(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  optim.yield %gc
}
optim.rule @decayed(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %w1 = geo.apply %w, %gc decay(%lr, %wd)
  optim.yield %w1
}

// -----

// Characters other than `*` are plain: no classes, no single wild card. A
// group that the parameter names must be the one that its name implies.
// CHECK-LABEL: optim.spec @plain_characters
optim.spec @plain_characters {
  optim.group @odd ["a?[0-9]"] uses @r lr 0.1
  optim.group @tied ["t*"] uses @r lr 0.1
  // CHECK: optim.parameter "a?[0-9]" : tensor<8x8xf32> in @odd
  optim.parameter "a?[0-9]" : tensor<8x8xf32> in @odd
  // CHECK-NEXT: optim.parameter "t0" : tensor<8x8xf32> in @tied
  optim.parameter "t0" : tensor<8x8xf32>
  // CHECK-NEXT: optim.parameter "t1" : tensor<8x8xf32> in @tied aliases "t0"
  optim.parameter "t1" : tensor<8x8xf32> aliases "t0"
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  optim.yield %gc
}

// -----

// A bound spec, and a module without a spec, are left as they are.
// CHECK-LABEL: optim.spec @bound
optim.spec @bound {
  optim.bound_group @a uses "r" lr 0.1
  // CHECK: optim.parameter "x" : tensor<8x8xf32> in @a
  optim.parameter "x" : tensor<8x8xf32> in @a
}

// -----

// CHECK-LABEL: func.func private @no_spec
func.func private @no_spec()

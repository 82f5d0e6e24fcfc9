// RUN: %limit steep-opt %s --canonicalize --cse --symbol-dce | FileCheck %s

// Nothing in a spec has a user, and all of it is kept; so is a rule that only
// its group names.
// CHECK-LABEL: optim.spec @s
// CHECK-NEXT:    optim.group @a ["x"] uses @r lr 0.1
// CHECK-NEXT:    optim.parameter "x" : tensor<8x4xf32>
optim.spec @s {
  optim.group @a ["x"] uses @r lr 0.1
  optim.parameter "x" : tensor<8x4xf32>
}

// Two ways to take the scalars apart are one; unused ones vanish. Constants
// stay in the rule. (Two scales are one by a law of geo.)
// CHECK-LABEL: optim.rule @r
// CHECK-NEXT:    %[[C:.*]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:    %[[LR:.*]], %{{.*}}, %{{.*}}, %{{.*}} = optim.scalars %h
// CHECK-NEXT:    %[[D:.*]] = arith.mulf %[[LR]], %[[C]] : f32
// CHECK-NEXT:    %[[Y:.*]] = geo.scale %g, %[[D]]
// CHECK-NEXT:    %[[W:.*]] = geo.apply %w, %[[Y]] decay(%[[LR]], %[[LR]])
// CHECK-NEXT:    optim.yield %[[W]]
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %c = arith.constant 2.0 : f32
  %lr, %wd, %clip, %t = optim.scalars %h
  %lr2, %wd2, %clip2, %t2 = optim.scalars %h
  %unused = geo.scale %g, %clip
  %x = geo.scale %g, %lr
  %y = geo.scale %x, %c
  %w1 = geo.apply %w, %y decay(%lr, %lr2)
  optim.yield %w1
}

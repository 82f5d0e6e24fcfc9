// RUN: %limit steep-opt %s --geo-infer-centering --split-input-file | FileCheck %s
// RUN: %limit steep-opt %s --geo-infer-centering --split-input-file --remarks-filter=geo-infer-centering 2>&1 >/dev/null \
// RUN:   | FileCheck %s --check-prefix=REMARK

// The head of the paper: neither projection is needed.
// CHECK-LABEL: func.func @untied_head
// CHECK: %[[C:.*]] = geo.correct_bias
// CHECK-NEXT: %[[S:.*]] = geo.max_row %[[C]] radius(%{{.*}}) {eps = 1.0e-08} : tensor<64x8xf32>
// CHECK-NEXT: geo.apply %{{.*}}, %[[S]]
// CHECK-NOT: geo.center
func.func @untied_head(
    %u: tensor<64x8xf32> {optim.role = "weight", geo.facts = [#geo.shift_invariant]},
    %g: tensor<64x8xf32> {optim.role = "gradient", geo.facts = [#geo.zero_column_sum]},
    %b: tensor<64x8xf32> {optim.role = "state"},
    %lr: f32, %wd: f32, %clip: f32, %t: i64)
    -> (tensor<64x8xf32> {optim.role = "weight"}, tensor<64x8xf32> {optim.role = "state"},
        tensor<64x8xf32> {optim.role = "update"}) {
  %gc = geo.scale %g, %clip : tensor<64x8xf32>
  %b1 = geo.ema %b, %gc {beta = 0.95} : tensor<64x8xf32>
  %c = geo.correct_bias %b1, %t {beta = 0.95} : tensor<64x8xf32>
  // REMARK: :[[#@LINE+3]]:{{[0-9]+}}: remark: [Analysis] Geometry | {{.*}} Function=untied_head | Remark="geo.common_ball decreases <G, S> by up to radius * sum_i ||(P G)_i||"
  // REMARK: :[[#@LINE+2]]:{{[0-9]+}}: remark: [Passed] ProjectionLeftOut | {{.*}} Reason="columns of its operand sum to zero"
  // REMARK: :[[#@LINE+1]]:{{[0-9]+}}: remark: [Passed] ProjectionLeftOut | {{.*}} Reason="nobody sees a common row of its result"
  %s = geo.common_ball %c radius(%lr) {eps = 1.0e-8} : tensor<64x8xf32>
  %u1 = geo.apply %u, %s decay(%lr, %wd) : tensor<64x8xf32>
  return %u1, %b1, %s : tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>
}

// -----

// No facts, no licence.
// CHECK-LABEL: func.func @no_facts
// CHECK: %[[C:.*]] = geo.center %{{.*}} : tensor<64x8xf32>
// CHECK-NEXT: %[[R:.*]] = geo.max_row %[[C]]
// CHECK-NEXT: %[[S:.*]] = geo.center %[[R]]
// CHECK-NEXT: geo.apply %{{.*}}, %[[S]]
func.func @no_facts(
    %u: tensor<64x8xf32> {optim.role = "weight"}, %g: tensor<64x8xf32> {optim.role = "gradient"},
    %b: tensor<64x8xf32> {optim.role = "state"}, %lr: f32)
    -> (tensor<64x8xf32> {optim.role = "weight"}, tensor<64x8xf32> {optim.role = "state"}) {
  %b1 = geo.ema %b, %g {beta = 0.95} : tensor<64x8xf32>
  // REMARK: :[[#@LINE+1]]:{{[0-9]+}}: remark: [Missed] ProjectionKept | {{.*}} Function=no_facts | Reason="no fact says that columns of its operand sum to zero, or that a common row is not seen"
  %s = geo.common_ball %b1 radius(%lr) : tensor<64x8xf32>
  %u1 = geo.apply %u, %s : tensor<64x8xf32>
  return %u1, %b1 : tensor<64x8xf32>, tensor<64x8xf32>
}

// -----

// A centred gradient spares the inner projection only.
// CHECK-LABEL: func.func @gradient_only
// CHECK: %[[B:.*]], %[[N:.*]] = geo.momentum
// CHECK-NEXT: %[[R:.*]] = geo.max_row %[[N]]
// CHECK-NEXT: %[[S:.*]] = geo.center %[[R]]
// CHECK-NEXT: geo.apply %{{.*}}, %[[S]]
func.func @gradient_only(
    %u: tensor<64x8xf32> {optim.role = "weight"},
    %g: tensor<64x8xf32> {optim.role = "gradient", geo.facts = [#geo.zero_column_sum]},
    %b: tensor<64x8xf32> {optim.role = "state"}, %lr: f32)
    -> (tensor<64x8xf32> {optim.role = "weight"}, tensor<64x8xf32> {optim.role = "state"}) {
  %b1, %n = geo.momentum %b, %g {beta = 0.95, nesterov} : tensor<64x8xf32>
  %s = geo.common_ball %n radius(%lr) : tensor<64x8xf32>
  %u1 = geo.apply %u, %s : tensor<64x8xf32>
  return %u1, %b1 : tensor<64x8xf32>, tensor<64x8xf32>
}

// -----

// An invisible shift spares the outer one only.
// CHECK-LABEL: func.func @weight_only
// CHECK: %[[C:.*]] = geo.center %{{.*}} : tensor<64x8xf32>
// CHECK-NEXT: %[[S:.*]] = geo.max_row %[[C]]
// CHECK-NEXT: geo.apply %{{.*}}, %[[S]]
// CHECK-NOT: geo.center
func.func @weight_only(
    %u: tensor<64x8xf32> {optim.role = "weight", geo.facts = [#geo.shift_invariant]},
    %g: tensor<64x8xf32> {optim.role = "gradient"}, %lr: f32)
    -> (tensor<64x8xf32> {optim.role = "weight"}) {
  %s = geo.common_ball %g radius(%lr) : tensor<64x8xf32>
  %u1 = geo.apply %u, %s : tensor<64x8xf32>
  return %u1 : tensor<64x8xf32>
}

// -----

// One state takes in the weight and is not centred; the other one is, although
// the first was assumed to be at the beginning.
// CHECK-LABEL: func.func @states
// CHECK: %[[M1:.*]] = geo.ema
// CHECK: %[[M2:.*]] = geo.ema
// CHECK: %[[C:.*]] = geo.center %[[M1]]
// CHECK-NEXT: geo.max_row %[[C]]
// CHECK-NEXT: geo.center
// CHECK-NEXT: geo.apply
// CHECK-NEXT: geo.max_row %[[M2]]
func.func @states(
    %u: tensor<64x8xf32> {optim.role = "weight"},
    %g: tensor<64x8xf32> {optim.role = "gradient", geo.facts = [#geo.zero_column_sum]},
    %a: tensor<64x8xf32> {optim.role = "state"}, %b: tensor<64x8xf32> {optim.role = "state"}, %lr: f32)
    -> (tensor<64x8xf32> {optim.role = "weight"}, tensor<64x8xf32> {optim.role = "state"},
        tensor<64x8xf32> {optim.role = "state"}) {
  %a1 = geo.ema %a, %u {beta = 0.5} : tensor<64x8xf32>
  %b1 = geo.ema %b, %g {beta = 0.5} : tensor<64x8xf32>
  %s = geo.common_ball %a1 radius(%lr) : tensor<64x8xf32>
  %u1 = geo.apply %u, %s : tensor<64x8xf32>
  %s1 = geo.common_ball %b1 radius(%lr) : tensor<64x8xf32>
  %u2 = geo.apply %u1, %s1 : tensor<64x8xf32>
  return %u2, %a1, %b1 : tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>
}

// -----

// States that feed each other fall together.
// CHECK-LABEL: func.func @chained_states
// CHECK: %[[B:.*]] = geo.ema %arg3, %arg2
// CHECK: geo.center %[[B]]
func.func @chained_states(
    %u: tensor<64x8xf32> {optim.role = "weight"},
    %g: tensor<64x8xf32> {optim.role = "gradient"},
    %a: tensor<64x8xf32> {optim.role = "state"}, %b: tensor<64x8xf32> {optim.role = "state"}, %lr: f32)
    -> (tensor<64x8xf32> {optim.role = "weight"}, tensor<64x8xf32> {optim.role = "state"},
        tensor<64x8xf32> {optim.role = "state"}) {
  %b1 = geo.ema %b, %a {beta = 0.5} : tensor<64x8xf32>
  %a1 = geo.ema %a, %g {beta = 0.5} : tensor<64x8xf32>
  %s = geo.common_ball %b1 radius(%lr) : tensor<64x8xf32>
  %u1 = geo.apply %u, %s : tensor<64x8xf32>
  return %u1, %a1, %b1 : tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>
}

// -----

// The increment is kept as a state: somebody sees the shift.
// CHECK-LABEL: func.func @increment_is_kept
// CHECK: geo.max_row
// CHECK-NEXT: geo.center
func.func @increment_is_kept(
    %u: tensor<64x8xf32> {optim.role = "weight", geo.facts = [#geo.shift_invariant]},
    %g: tensor<64x8xf32> {optim.role = "gradient", geo.facts = [#geo.zero_column_sum]},
    %b: tensor<64x8xf32> {optim.role = "state"}, %lr: f32)
    -> (tensor<64x8xf32> {optim.role = "weight"}, tensor<64x8xf32> {optim.role = "state"}) {
  %s = geo.common_ball %g radius(%lr) : tensor<64x8xf32>
  %b1 = geo.ema %b, %s {beta = 0.5} : tensor<64x8xf32>
  %u1 = geo.apply %u, %s : tensor<64x8xf32>
  return %u1, %b1 : tensor<64x8xf32>, tensor<64x8xf32>
}

// -----

// The model does not see a shift of the weight, but this rule would: it averages
// weights into the gradient.
// CHECK-LABEL: func.func @rule_sees_the_weight
// CHECK: geo.max_row
// CHECK-NEXT: geo.center
func.func @rule_sees_the_weight(
    %u: tensor<64x8xf32> {optim.role = "weight", geo.facts = [#geo.shift_invariant]},
    %g: tensor<64x8xf32> {optim.role = "gradient", geo.facts = [#geo.zero_column_sum]}, %lr: f32)
    -> (tensor<64x8xf32> {optim.role = "weight"}) {
  %b = geo.ema %u, %g {beta = 0.5} : tensor<64x8xf32>
  %s = geo.common_ball %b radius(%lr) : tensor<64x8xf32>
  %u1 = geo.apply %u, %s : tensor<64x8xf32>
  return %u1 : tensor<64x8xf32>
}

// -----

// A centre that is written out goes by the same laws; a centre of a sum that is
// centred only through a projection that nobody sees keeps that sum honest.
// CHECK-LABEL: func.func @written_out
// CHECK-NEXT: %[[R:.*]] = geo.max_row %arg1
// CHECK-NEXT: %[[H:.*]] = geo.scale %[[R]]
// CHECK-NEXT: %[[C:.*]] = geo.center %[[H]]
// CHECK-NEXT: return %[[C]]
func.func @written_out(
    %u: tensor<64x8xf32>, %g: tensor<64x8xf32> {optim.role = "gradient", geo.facts = [#geo.zero_column_sum]}, %lr: f32)
    -> tensor<64x8xf32> {
  %c = geo.center %g : tensor<64x8xf32>
  %r = geo.max_row %c radius(%lr) : tensor<64x8xf32>
  %h = geo.scale %r, %lr : tensor<64x8xf32>
  %s = geo.center %h : tensor<64x8xf32>
  return %s : tensor<64x8xf32>
}

// -----

// Averages that switch their rate, and their mixture, are linear too.
// CHECK-LABEL: func.func @mixture
// CHECK: %[[E:.*]] = geo.mix
// CHECK-NEXT: geo.max_row %[[E]]
// CHECK-NEXT: geo.center
func.func @mixture(
    %u: tensor<64x8xf32> {optim.role = "weight"},
    %g: tensor<64x8xf32> {optim.role = "gradient", geo.facts = [#geo.zero_column_sum]},
    %f: tensor<64x8xf32> {optim.role = "state"}, %s: tensor<64x8xf32> {optim.role = "state"},
    %lr: f32, %t: i64)
    -> (tensor<64x8xf32> {optim.role = "weight"}, tensor<64x8xf32> {optim.role = "state"},
        tensor<64x8xf32> {optim.role = "state"}) {
  %f1 = geo.switched_ema %f, %g step(%t) {beta = 0.95, switch_step = 5, after = 0.8} : tensor<64x8xf32>
  %s1 = geo.switched_ema %s, %g step(%t) {beta = 0.95, switch_step = 5, after = 0.98} : tensor<64x8xf32>
  %e = geo.mix %f1, %s1 {weights = [0.5, 0.5]} : tensor<64x8xf32>
  %d = geo.common_ball %e radius(%lr) : tensor<64x8xf32>
  %u1 = geo.apply %u, %d : tensor<64x8xf32>
  return %u1, %f1, %s1 : tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>
}

// -----

// CHECK-LABEL: func.func private @declaration
func.func private @declaration(tensor<64x8xf32>)

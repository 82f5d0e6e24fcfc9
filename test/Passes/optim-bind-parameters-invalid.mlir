// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics --optim-bind-parameters

optim.spec @unmatched {
  optim.group @a ["blocks.*"] uses @r lr 0.1
  optim.group @b ["head", "h"] uses @r lr 0.1
  optim.parameter "blocks.0" : tensor<8x8xf32>
  // expected-error@+1 {{'embed' is matched by no group (groups: @a ["blocks.*"] @b ["head", "h"])}}
  optim.parameter "embed" : tensor<8x8xf32>
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  optim.yield %w
}

// -----

optim.spec @many_unmatched {
  optim.group @a ["x"] uses @r lr 0.1
  // expected-error@+1 {{'p' is matched by no group; neither are 'q', 's', 't', 'u' and 1 more (groups: @a ["x"])}}
  optim.parameter "p" : tensor<8x8xf32>
  optim.parameter "q" : tensor<8x8xf32>
  optim.parameter "s" : tensor<8x8xf32>
  optim.parameter "t" : tensor<8x8xf32>
  optim.parameter "u" : tensor<8x8xf32>
  optim.parameter "v" : tensor<8x8xf32>
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  optim.yield %w
}

// -----

optim.spec @doubly_matched {
  optim.group @a ["blocks.*"] uses @r lr 0.1
  optim.group @b ["z", "*.weight"] uses @r lr 0.1
  // expected-error@+1 {{'blocks.0.weight' is matched by two groups: @a ("blocks.*") and @b ("*.weight")}}
  optim.parameter "blocks.0.weight" : tensor<8x8xf32>
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  optim.yield %w
}

// -----

// The pattern covers the whole name, not a part of it.
optim.spec @part {
  optim.group @a ["embed"] uses @r lr 0.1
  // expected-error@+1 {{'embed.weight' is matched by no group}}
  optim.parameter "embed.weight" : tensor<8x8xf32>
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  optim.yield %w
}

// -----

optim.spec @unused {
  optim.group @a ["*"] uses @r lr 0.1
  // expected-error@+1 {{@b matches no parameter, with patterns ["head.*"]}}
  optim.group @b ["head.*"] uses @r lr 0.1
  optim.parameter "x" : tensor<8x8xf32>
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  optim.yield %w
}

// -----

optim.spec @contradiction {
  optim.group @a ["x"] uses @r lr 0.1
  optim.group @b ["y"] uses @r lr 0.1
  // expected-error@+1 {{'x' is put in group @b, but its name is matched by group @a}}
  optim.parameter "x" : tensor<8x8xf32> in @b
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  optim.yield %w
}

// -----

// expected-error@+1 {{@empty has no parameters to bind}}
optim.spec @empty {
  optim.group @a ["*"] uses @r lr 0.1
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  optim.yield %w
}

// -----

optim.spec @vector {
  optim.group @a ["*"] uses @r lr 0.1
  // expected-error@+1 {{'norm.gain' in group @a has type 'tensor<8xf32>', but rules update matrices: expected rank 2, not rank 1}}
  optim.parameter "norm.gain" : tensor<8xf32>
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  optim.yield %w
}

// -----

optim.spec @half {
  optim.group @a ["*"] uses @r lr 0.1
  // expected-error@+1 {{'x' in group @a has type 'tensor<8x4xbf16>', but rules work on f32}}
  optim.parameter "x" : tensor<8x4xbf16>
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  optim.yield %w
}

// -----

optim.spec @nothing {
  optim.group @a ["*"] uses @r lr 0.1
  // expected-error@+1 {{'x' in group @a has type 'tensor<0x4xf32>', but a matrix needs at least one element}}
  optim.parameter "x" : tensor<0x4xf32>
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  optim.yield %w
}

// -----

optim.spec @tied {
  optim.group @a ["embed"] uses @r lr 0.1
  optim.group @b ["head"] uses @r lr 0.1
  optim.parameter "embed" : tensor<8x8xf32>
  // expected-error@+1 {{'head' shares its storage with 'embed', but they are in groups @b and @a; tied weights are updated by one rule}}
  optim.parameter "head" : tensor<8x8xf32> aliases "embed"
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  optim.yield %w
}

// -----

optim.spec @tied_with_facts {
  optim.group @a ["*"] uses @r lr 0.1 facts(#geo.zero_column_sum)
  optim.parameter "embed" : tensor<8x8xf32>
  // expected-error@+1 {{'head' shares its storage with 'embed', but group @a states facts that tied weights do not have}}
  optim.parameter "head" : tensor<8x8xf32> aliases "embed"
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  optim.yield %w
}

// -----

optim.spec @idle_decay {
  // expected-error@+1 {{@a has a weight decay, but rule @r does not use it}}
  optim.group @a ["*"] uses @r lr 0.1 wd 0.1
  optim.parameter "x" : tensor<8x8xf32>
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @one {
  optim.bound_group @a uses "r" lr 0.1
}
// expected-error@+1 {{expected one spec in a module, but 'two' comes after 'one'}}
optim.spec @two {
}

// -----

optim.spec @misspelt {
  // expected-error@+1 {{@a: pattern "mlp.*" matches no parameter}}
  optim.group @a ["attn.*", "mlp.*"] uses @r lr 0.1
  optim.parameter "attn.q" : tensor<8x8xf32>
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  optim.yield %w
}

// -----

// Neither the clip factor nor the trainer's gradient scale would arrive.
optim.spec @unclipped {
  // expected-error@+1 {{@a would be neither clipped nor scaled: expected rule @r to multiply its gradient by the clip factor, the third result of optim.scalars, as in geo.scale %g, %clip}}
  optim.group @a ["*"] uses @r lr 0.1
  optim.parameter "x" : tensor<8x8xf32>
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  // expected-note@+1 {{the gradient comes in here without it}}
  %s = geo.max_row %g radius(%lr) {eps = 1.0e-8}
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

// It is computed, and nobody uses it.
optim.spec @unused {
  // expected-error@+1 {{@a would be neither clipped nor scaled: expected rule @r to multiply its gradient by the clip factor}}
  optim.group @a ["*"] uses @r lr 0.1
  optim.parameter "x" : tensor<8x8xf32>
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  // expected-note@+1 {{the gradient comes in here without it}}
  %s = geo.sign %g radius(%lr) {eps = 0.5}
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

// One of two ways.
optim.spec @half {
  // expected-error@+1 {{@a would be neither clipped nor scaled: expected rule @r to multiply its gradient by the clip factor}}
  optim.group @a ["*"] uses @r lr 0.1
  optim.parameter "x" : tensor<8x8xf32>
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  // expected-note@+1 {{the gradient comes in here without it}}
  %q = geo.mix %gc, %g {weights = [0.5, 0.5]}
  %s = geo.sign %q radius(%lr) {eps = 0.5}
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

// A state is no less than the weight.
optim.spec @state {
  // expected-error@+1 {{@a would be neither clipped nor scaled: expected rule @r to multiply its gradient by the clip factor}}
  optim.group @a ["*"] uses @r lr 0.1
  optim.parameter "x" : tensor<8x8xf32>
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  // expected-note@+1 {{the gradient comes in here without it}}
  %b1 = geo.ema %b, %g {beta = 0.9}
  %s = geo.sign %gc radius(%lr) {eps = 0.5}
  %w1 = geo.apply %w, %s
  optim.yield %w1, %b1
}

// -----

// The factor may come in times another number, or behind an average, and an
// oracle without eps does not see it.
optim.spec @late {
  optim.group @a ["*"] uses @r lr 0.1
  optim.parameter "x" : tensor<8x8xf32>
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %half = arith.constant 0.5 : f32
  %k = arith.mulf %clip, %half : f32
  %gc = geo.scale %g, %k
  %b1 = geo.ema %b, %gc {beta = 0.9}
  %s = geo.sign %g radius(%lr)
  %w1 = geo.apply %w, %s
  optim.yield %w1, %b1
}

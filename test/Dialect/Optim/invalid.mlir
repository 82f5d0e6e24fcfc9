// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

// expected-error@+1 {{expected warmup in [0, 1), but got 1.0}}
optim.spec @s schedule(#optim.warmup_cosine<warmup = 1.0, floor = 0.1>) {}

// -----

// expected-error@+1 {{expected warmup in [0, 1), but got -0.1}}
optim.spec @s schedule(#optim.warmup_cosine<warmup = -0.1, floor = 0.1>) {}

// -----

// expected-error@+1 {{expected floor in [0, 1], but got 1.5}}
optim.spec @s schedule(#optim.warmup_cosine<warmup = 0.1, floor = 1.5>) {}

// -----

// expected-error@+1 {{expected warmup = X and floor = X}}
optim.spec @s schedule(#optim.warmup_cosine<warmup = 0.1, flor = 0.1>) {}

// -----

// expected-error@+1 {{expected a positive, finite norm, but got 0.0}}
optim.spec @s clip(#optim.global_norm<0.0>) {}

// -----

// expected-error@+1 {{expected a positive, finite norm, but got -1.0}}
optim.spec @s clip(#optim.global_norm<-1.0>) {}

// -----

// expected-error@+1 {{expected skip or error, but got 'ignore'}}
optim.spec @s nonfinite(ignore) {}

// -----

// expected-error@+1 {{expected 'optim.role' to be the role of an argument or result, but got "wieght"}}
func.func private @f(tensor<8x4xf32> {optim.role = "wieght"})

// -----

// expected-error@+1 {{expected 'optim.role' to be the role of an argument or result, but got 1 : i64}}
func.func private @f() -> (tensor<8x4xf32> {optim.role = 1})

// -----

// expected-error@+1 {{expected 'optim.convention' to be "sum", "ema", "adam", "mean" or "other", but got "mode"}}
func.func private @f(tensor<8x4xf32> {optim.convention = "mode"})

// -----

// expected-error@+1 {{expected 'optim.beta' to be a number of type f64, but got "half"}}
func.func private @f(tensor<8x4xf32> {optim.beta = "half"})

// -----

// expected-error@+1 {{expected 'optim.state' to be the name of a state, but got ""}}
func.func private @f(tensor<8x4xf32> {optim.state = ""})

// -----

// expected-error@+1 {{has an unknown attribute 'optim.rule' on an argument or result}}
func.func private @f(tensor<8x4xf32> {optim.rule = "muon"})

// -----

//===----------------------------------------------------------------------===//
// Spec
//===----------------------------------------------------------------------===//

// expected-error@+1 {{expected the name of a spec to be an identifier of C, but got 'my.spec'}}
optim.spec @my.spec {}

// -----

optim.spec @s {
  // expected-error@+1 {{is not expected in an optim.spec}}
  %0 = arith.constant 0 : i32
}

// -----

optim.spec @s {
  // expected-note@+1 {{first here}}
  optim.group @a ["x"] uses @r lr 0.1
  // expected-error@+1 {{expected groups of different names, but 'a' occurs twice}}
  optim.group @a ["y"] uses @r lr 0.1
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  optim.yield %w
}

// -----

optim.spec @s {
  // expected-note@+1 {{first here}}
  optim.bound_group @a uses "r" lr 0.1
  // expected-error@+1 {{expected groups of different names, but 'a' occurs twice}}
  optim.bound_group @a uses "r" lr 0.1
}

// -----

optim.spec @s {
  // expected-note@+1 {{first here}}
  optim.parameter "x" : tensor<8x4xf32>
  // expected-error@+1 {{expected parameters of different names, but 'x' occurs twice}}
  optim.parameter "x" : tensor<8x4xf32>
}

// -----

optim.spec @s {
  // expected-error@+1 {{names group @b, which the spec does not have}}
  optim.parameter "x" : tensor<8x4xf32> in @b
}

// -----

optim.spec @s {
  // expected-error@+1 {{aliases 'y', which is no parameter of the spec}}
  optim.parameter "x" : tensor<8x4xf32> aliases "y"
}

// -----

optim.spec @s {
  optim.parameter "a" : tensor<8x4xf32>
  optim.parameter "b" : tensor<8x4xf32> aliases "a"
  // expected-error@+1 {{aliases 'b', which is itself an alias; name the owner of the storage, 'a'}}
  optim.parameter "c" : tensor<8x4xf32> aliases "b"
}

// -----

optim.spec @s {
  optim.parameter "a" : tensor<8x4xf32>
  // expected-error@+1 {{aliases 'a' and must have its type 'tensor<8x4xf32>', but has 'tensor<4x8xf32>'}}
  optim.parameter "b" : tensor<4x8xf32> aliases "a"
}

// -----

optim.spec @s {
  // expected-error@+1 {{names 'x', which is no parameter of the spec}}
  optim.batch @f update @u squares @q ["x"]
}

// -----

optim.spec @s {
  optim.parameter "x" : tensor<8x4xf32>
  // expected-note@+1 {{first here}}
  optim.batch @f update @u squares @q ["x"]
  // expected-error@+1 {{expected each parameter in one batch, but 'x' is named twice}}
  optim.batch @f update @u squares @q ["x"]
}

// -----

//===----------------------------------------------------------------------===//
// Groups, parameters, batches
//===----------------------------------------------------------------------===//

// expected-error@+1 {{expects parent op 'optim.spec'}}
optim.parameter "x" : tensor<8x4xf32>

// -----

optim.spec @s {
  // expected-error@+1 {{expected a finite lr of at least 0, but got -0.1}}
  optim.group @a ["x"] uses @r lr -0.1
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected a finite lr of at least 0, but got nan}}
  optim.group @a ["x"] uses @r lr 0x7FF8000000000000
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected a finite wd of at least 0, but got inf}}
  optim.group @a ["x"] uses @r lr 0.1 wd 0x7FF0000000000000
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected a finite lr of at least 0, but got -1.0}}
  optim.bound_group @a uses "r" lr -1.0
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected a finite wd of at least 0, but got -1.0}}
  optim.bound_group @a uses "r" lr 1.0 wd -1.0
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected at least one name pattern}}
  optim.group @a [] uses @r lr 0.1
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected name patterns that are not empty}}
  optim.group @a [""] uses @r lr 0.1
}

// -----

optim.spec @s {
  // expected-error@+1 {{has the pattern 'x' twice}}
  optim.group @a ["x", "x"] uses @r lr 0.1
}

// -----

optim.spec @s {
  // expected-error@+1 {{states the fact #geo.shift_invariant twice}}
  optim.group @a ["x"] uses @r lr 0.1 facts(#geo.shift_invariant, #geo.shift_invariant)
}

// -----

optim.spec @s {
  // expected-error@+1 {{uses rule @muon, which is not defined}}
  optim.group @a ["x"] uses @muon lr 0.1
}

// -----

optim.spec @s {
  // expected-error@+1 {{uses @muon, which is no optim.rule}}
  optim.group @a ["x"] uses @muon lr 0.1
}
// expected-note@+1 {{defined here}}
func.func private @muon()

// -----

optim.spec @s {
  // expected-error@+1 {{expected a name that is not empty}}
  optim.parameter "" : tensor<8x4xf32>
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected a static shape for 'x', but got 'tensor<?x4xf32>'}}
  optim.parameter "x" : tensor<?x4xf32>
}

// -----

optim.spec @s {
  // expected-error@+1 {{'x' aliases itself}}
  optim.parameter "x" : tensor<8x4xf32> aliases "x"
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected at least one parameter}}
  optim.batch @f update @u squares @q []
}

// -----

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

// expected-error@+1 {{expected a weight, a gradient and !optim.scalars, but got 1 arguments}}
optim.rule @r(%w: tensor<?x?xf32>) {
  optim.yield %w
}

// -----

// expected-error@+1 {{expected the weight to be a tensor of rank 2 of f32, but got 'tensor<?xf32>'}}
optim.rule @r(%w: tensor<?xf32>, %g: tensor<?xf32>, %h: !optim.scalars) {
  optim.yield %w : tensor<?xf32>
}

// -----

// expected-error@+1 {{expected the weight to be a tensor of rank 2 of f32, but got 'tensor<?x?xbf16>'}}
optim.rule @r(%w: tensor<?x?xbf16>, %g: tensor<?x?xbf16>, %h: !optim.scalars) {
  optim.yield %w : tensor<?x?xbf16>
}

// -----

// expected-error@+1 {{expected the gradient to have the weight's type 'tensor<?x?xf32>', but got 'tensor<?x?xbf16>'}}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xbf16>, %h: !optim.scalars) {
  optim.yield %w
}

// -----

// expected-error@+1 {{expected the third argument to be !optim.scalars, but got 'f32'}}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %lr: f32) {
  optim.yield %w
}

// -----

// expected-error@+1 {{expected state "b" to have the weight's type 'tensor<?x?xf32>' or one column, but got 'tensor<8x4xf32>'}}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "b": tensor<8x4xf32>) {
  optim.yield %w, %b : tensor<?x?xf32>, tensor<8x4xf32>
}

// -----

// expected-error@+1 {{expected the name of a state to be an identifier, but got "exp avg"}}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "exp avg": tensor<?x?xf32>) {
  optim.yield %w, %b
}

// -----

// expected-error@+1 {{expected another name than "step" for a state: it means something else in the files of an update}}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "step": tensor<?x?xf32>) {
  optim.yield %w, %b
}

// -----

// expected-error@+1 {{expected states of different names, but "b" is declared twice}}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "b": tensor<?x?xf32>, %c "b": tensor<?x?xf32>) {
  optim.yield %w, %b, %c
}

// -----

// expected-error@+1 {{expected 2 states, one for each name, but got 0}}
"optim.rule"() <{sym_name = "r", state_names = ["a", "b"]}> ({
^bb0(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars):
  optim.yield %w
}) : () -> ()

// -----

optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "b": tensor<?x?xf32>) {
  // expected-error@+1 {{expected 2 values, the new weight and 1 states, but got 1}}
  optim.yield %w
}

// -----

optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %0 = tensor.empty() : tensor<8x4xf32>
  // expected-error@+1 {{expected the new weight to have type 'tensor<?x?xf32>', but got 'tensor<8x4xf32>'}}
  optim.yield %0 : tensor<8x4xf32>
}

// -----

optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "b": tensor<?x?xf32>) {
  %0 = tensor.empty() : tensor<8x4xf32>
  // expected-error@+1 {{expected state "b" to have type 'tensor<?x?xf32>', but got 'tensor<8x4xf32>'}}
  optim.yield %w, %0 : tensor<?x?xf32>, tensor<8x4xf32>
}

// -----

// expected-error@+1 {{expected the rule to read state "b", which it declares, but no result is computed from it}}
optim.rule @unused(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%a "a": tensor<?x?xf32>, %b "b": tensor<?x?xf32>) {
  %a1 = geo.momentum %a, %g {beta = 0.9}
  %w1 = geo.apply %w, %a1
  optim.yield %w1, %a1, %g
}

// -----

// What is read by dead ops alone may lose its reader.
// expected-error@+1 {{expected the rule to read state "b", which it declares, but no result is computed from it}}
optim.rule @dead(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "b": tensor<?x?xf32>) {
  %c = geo.center %b
  %w1 = geo.apply %w, %g
  optim.yield %w1, %b
}

// -----

optim.rule @constant(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "b": tensor<?x?xf32>) {
  %b1 = geo.momentum %b, %g {beta = 0.9}
  %w1 = geo.apply %w, %b1
  // expected-error@+1 {{expected a new value of state "b", but got the old one: it starts at zero and would stay there}}
  optim.yield %w1, %b
}

// -----

// A rule does not see what is around it.
%0 = arith.constant 1.0 : f32
// expected-note@+1 {{required by region isolation constraints}}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  // expected-error@+1 {{using value defined outside the region}}
  %s = geo.scale %g, %0
  optim.yield %w
}

// -----

func.func @f(%w: tensor<?x?xf32>) {
  // expected-error@+1 {{expects parent op 'optim.rule'}}
  optim.yield %w
}

// -----

optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  optim.yield %w
}
optim.spec @s {
  // expected-error@+1 {{expected lr to be representable in f32, but got 1.0e+300}}
  optim.group @a ["x"] uses @r lr 1.0e300
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected wd to be representable in f32, but got 1.0e-60}}
  optim.bound_group @a uses "r" lr 1.0 wd 1.0e-60
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected wd X, facts(...), split [...], per_head N, axis N, stacked or convolution, but got 'fact'}}
  optim.group @g ["a"] uses @sgd lr 0.1 wd 0.1 fact(#geo.zero_column_sum)
}

// -----

optim.spec @s {
  // expected-error@+1 {{'facts' is given twice}}
  optim.group @g ["a"] uses @sgd lr 0.1 facts(#geo.zero_column_sum) stacked facts(#geo.shift_invariant)
}

// -----

optim.spec @s {
  // expected-error@+1 {{'wd' is given twice}}
  optim.group @g ["a"] uses @sgd lr 0.1 wd 0.1 wd 0.2
}

// -----

optim.spec @s {
  // expected-error@+1 {{'stacked' is given twice}}
  optim.group @g ["a"] uses @sgd lr 0.1 stacked stacked
}

// -----

// expected-error@+1 {{expected a float (f64) for 'global_norm', but got "x"}}
optim.spec @s clip(#optim.global_norm<"x">) {}

// -----

// expected-error@+1 {{expected a decimal point in a number with an exponent, as in 1.0e-2}}
optim.spec @s schedule(#optim.warmup_cosine<warmup = 1e-1, floor = 0>) {}

// -----

// expected-error@+1 {{expected #optim.global_norm<X>, but got 1.000000e+00}}
optim.spec @s clip(1.0) {}

// -----

// expected-error@+1 {{expected #optim.warmup_cosine<warmup = X, floor = X>}}
optim.spec @s schedule(cosine) {}

// -----

// expected-error@+1 {{expected warmup = X and floor = X, as in #optim.warmup_cosine<warmup = 0.1, floor = 0.1>, but got floor alone}}
optim.spec @s schedule(#optim.warmup_cosine<floor = 1>) {}

// -----

// expected-error@+1 {{'floor' is given twice}}
optim.spec @s schedule(#optim.warmup_cosine<floor = 1, floor = 1>) {}

// -----

// expected-error@+1 {{'clip' is given twice}}
optim.spec @s clip(#optim.global_norm<1>) clip(#optim.global_norm<2>) {}

// -----

// expected-error@+1 {{expected schedule(...), clip(...), nonfinite(skip|error) or '{', but got 'clipping'}}
optim.spec @s clipping(1) {}

// -----

optim.spec @s {
  // expected-error@+1 {{expected a fact, #geo.zero_column_sum or #geo.shift_invariant}}
  optim.group @g ["a"] uses @sgd lr 0.1 facts(zero_column_sum)
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected a fact, #geo.zero_column_sum or #geo.shift_invariant}}
  optim.group @g ["a"] uses @sgd lr 0.1 facts()
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected an integer (i64) for 'split', but got '8.0'}}
  optim.group @g ["a"] uses @sgd lr 0.1 split [8.0, 8.0]
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected split [SIZE, ...]}}
  optim.group @g ["a"] uses @sgd lr 0.1 split 8
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected no comma: what a group says stands side by side}}
  optim.group @g ["a"] uses @sgd lr 0.1, wd 0.1
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected a float (f64) for 'lr', but got 'fast'}}
  optim.group @g ["a"] uses @sgd lr fast
}

// -----

// expected-error@+1 {{expected warmup = X and floor = X, as in #optim.warmup_cosine<warmup = 0.1, floor = 0.1>, but got none}}
optim.spec @s schedule(#optim.warmup_cosine) {}

// -----

// expected-error@+1 {{expected warmup = X, but got ','}}
optim.spec @s schedule(#optim.warmup_cosine<warmup, floor = 0.1>) {}

// -----

// expected-error@+1 {{expected the largest norm, as in #optim.global_norm<1.0>, but got none}}
optim.spec @s clip(#optim.global_norm<>) {}

// -----

// expected-error@+1 {{unknown attribute '#optim.linear'; expected #optim.warmup_cosine or #optim.global_norm}}
optim.spec @s schedule(#optim.linear<warmup = 0.1>) {}

// -----

optim.spec @s {
  // expected-error@+1 {{expected patterns of names, as in ["blocks.*"], but got '"'}}
  optim.group @g "a" uses @sgd lr 0.1
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected patterns of names, as in ["blocks.*"], but got 'a'}}
  optim.group @g [a] uses @sgd lr 0.1
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected the name of a rule, as in @muon, but got 'sgd'}}
  optim.group @g ["a"] uses sgd lr 0.1
}

// -----

optim.spec @s {
  // expected-error@+1 {{expected a fact, #geo.zero_column_sum or #geo.shift_invariant, but got 'zero_column_sum'}}
  optim.group @g ["a"] uses @sgd lr 0.1 facts(zero_column_sum)
}

// -----

optim.spec @s {
  // expected-error@+1 {{custom op 'optim.grup' is unknown; did you mean 'optim.group'?}}
  optim.grup @g ["a"] uses @sgd lr 0.1
}

// -----

optim.rule @r(%u: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    // expected-error@+1 {{expected the state's name, as in "momentum_buffer", but got ':'}}
    state(%b: tensor<?x?xf32>) {
}

//===- Passes.td - from a spec to bound functions ----------*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_OPTIM_PASSES_TD
#define STEEP_PASSES_OPTIM_PASSES_TD

include "mlir/Pass/PassBase.td"

def BindParameters : Pass<"optim-bind-parameters", "::mlir::ModuleOp"> {
  let summary = "give every parameter its group";
  let description = [{
    Matches the name of every `optim.parameter` against the patterns of every
    `optim.group` and writes the group's name on the parameter.

    Errors, each naming the parameter and the groups: a parameter that no group
    or more than one group matches; one that is not a matrix of f32 with at
    least one element; one that shares its storage with a parameter of another
    group, or whose group states facts that tied weights do not have; one that
    names another group than its name implies. Further: a group that matches
    no parameter, or one of whose patterns does; a group with a weight decay
    that its rule never uses; a rule that does not use the clip factor, so that
    neither clipping nor the trainer's gradient scale would reach its update; a
    module with more than one spec.

    ```mlir
    optim.group @head ["lm_head.*"] uses @rownorm lr 3.2e-3
    optim.parameter "lm_head.weight" : tensor<257x64xf32>
    ```
    becomes
    ```mlir
    optim.group @head ["lm_head.*"] uses @rownorm lr 3.2e-3
    optim.parameter "lm_head.weight" : tensor<257x64xf32> in @head
    ```
  }];
  let statistics = [Statistic<"numBound", "bound", "parameters bound">];
}

def InstantiateRules : Pass<"optim-instantiate-rules", "::mlir::ModuleOp"> {
  let summary = "write each rule as functions on the shapes it is used for";
  let description = [{
    Makes functions for every distinct (rule, shape, facts) of the bound
    parameters, by cloning the rule's body with static types, and one
    `optim.batch` for each parameter that names them:

    * `@RULE_MxN` updates one matrix. Arguments: weight, gradient, states as
      declared, lr, wd, clip, step; results: weight, states.
    * `@RULE_MxN_update` has the increment, that is what `geo.apply` adds, as
      one more result. Measurements need it; ordinary steps do not write it.
    * `@squares_MxN` gives the sums of squares of the gradient's rows. Summed
      over all parameters they are the square of the global norm, which
      clipping needs, and show whether every gradient is finite.

    Facts go where they hold: `#geo.zero_column_sum` on the gradient,
    `#geo.shift_invariant` on the weight. A state's convention is read off the
    op that makes it: `geo.momentum` gives "sum", `geo.ema` "ema", `geo.adamw`
    "adam", anything else "other".

    Afterwards there are no groups, only `optim.bound_group`s, and no rules.
    Aliases get no batch: their storage is updated once, through its owner.

    Errors: a parameter without a group; a rule for one shape used on another;
    a rule whose new weight is not made by its one `geo.apply`; a rule with
    side effects.

    ```mlir
    optim.spec @s {
      optim.group @all ["*"] uses @sgd lr 0.1
      optim.parameter "a" : tensor<8x4xf32> in @all
    }
    optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
      %lr, %wd, %clip, %t = optim.scalars %h
      %s = geo.scale %g, %lr
      %w1 = geo.apply %w, %s
      optim.yield %w1
    }
    ```
    becomes
    ```mlir
    optim.spec @s {
      optim.bound_group @all uses "sgd" lr 0.1
      optim.parameter "a" : tensor<8x4xf32> in @all
      optim.batch @sgd_8x4 update @sgd_8x4_update squares @squares_8x4 ["a"]
    }
    func.func @sgd_8x4(%w: tensor<8x4xf32> {optim.role = "weight"}, ...)
        -> (tensor<8x4xf32> {optim.role = "weight"})
        attributes {optim.rule = "sgd", optim.count = 1 : i64} {
      %s = geo.scale %g, %lr : tensor<8x4xf32>
      ...
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::geo::GeoDialect"];
  let statistics = [Statistic<"numInstances", "instances",
                              "distinct (rule, shape, facts)">];
}

def BatchParameters : Pass<"optim-batch-parameters", "::mlir::ModuleOp"> {
  let summary = "update equal matrices by one call";
  let description = [{
    Joins the `optim.batch`es that name the same function, at the place of the
    first and in the order of the parameters, and writes the number of matrices
    on the functions as `optim.count`. Matrices of one batch share kernels,
    launches and workspace; they are never joined into one matrix.

    Errors: a function that the module does not have, or that is for another
    shape than the parameters'.

    ```mlir
    optim.batch @f update @f_update squares @q ["a"]
    optim.batch @f update @f_update squares @q ["b"]
    ```
    becomes
    ```mlir
    optim.batch @f update @f_update squares @q ["a", "b"]
    ```
  }];
  let statistics = [Statistic<"numBatches", "batches", "batches left">];
}

def VerifyBound : Pass<"optim-verify-bound", "::mlir::ModuleOp"> {
  let summary = "refuse a module that is not at the bound level";
  let description = [{
    Fails where an `optim.group` or an `optim.rule` is left: passes on functions
    would find nothing to do and succeed.
  }];
}

#endif // STEEP_PASSES_OPTIM_PASSES_TD

//===- OptimOps.td - ops of the optim dialect --------------*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_OPTIM_OPTIMOPS_TD
#define STEEP_DIALECTS_OPTIM_OPTIMOPS_TD

include "dialects/Optim/OptimAttrs.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Optim_Op<string mnemonic, list<Trait> traits = []>
    : Op<Optim_Dialect, mnemonic, traits>;

def Optim_RankedTensorTypeAttr : TypeAttrOf<AnyRankedTensor>;

//===----------------------------------------------------------------------===//
// The spec
//===----------------------------------------------------------------------===//

def Optim_SpecOp : Optim_Op<"spec", [
    Symbol, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "an optimizer: groups, parameters and what holds for all";
  let description = [{
    Holds, at the spec level, one `optim.group` for each kind of parameter and
    one `optim.parameter` for each weight of the model; at the bound level
    `optim.bound_group`s, parameters and `optim.batch`es. The name becomes the
    name of the artefact and a part of every exported symbol, so it must be an
    identifier of C.

    A spec is no symbol table: names of groups live only in it, while the
    rules and functions that it names are symbols of the module around it.

    `nonfinite` says what a step does about a gradient that is not finite:
    `skip` (the default) leaves weights, states and the step counter as they
    are and reports the parameter; `error` refuses with the same guarantee.

    Checked: names of groups, and of parameters, occur once; a parameter's
    group and the owner of its storage exist; a parameter is in one batch at
    most.

    Example:

    ```mlir
    optim.spec @paper schedule(#optim.warmup_cosine<warmup = 0.1, floor = 0.1>)
                      clip(#optim.global_norm<1.0>) nonfinite(error) {
      optim.group @backbone ["blocks.*"] uses @muon lr 8.0e-3 wd 0.1
      optim.parameter "blocks.0.attn.q.weight" : tensor<512x512xf32>
    }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    OptionalAttr<Optim_WarmupCosineAttr>:$schedule,
    OptionalAttr<Optim_GlobalNormAttr>:$clip,
    DefaultValuedAttr<Optim_NonFiniteAttr,
                      "::mlir::optim::NonFinite::Skip">:$nonfinite);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name custom<SpecClauses>($schedule, $clip, $nonfinite)
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Optim_GroupOp : Optim_Op<"group", [
    HasParent<"SpecOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "parameters that one rule updates";
  let description = [{
    A pattern is a glob over the whole name of a parameter: `*` matches any
    characters, dots too; every other character matches itself. The order of
    groups has no meaning: `optim-bind-parameters` refuses a parameter that no
    group or more than one group matches, and a group that matches nothing.

    `lr` is the peak learning rate and `wd` the decoupled weight decay (0 where
    it is left out); both are defaults that a trainer may override at run time.

    `facts` are promises about these weights and their gradients that no
    compiler can see in the rule, such as `#geo.zero_column_sum`; each belongs
    to another dialect, which says what it means and what it licenses.

    What follows `lr X` stands in any order.

    A parameter need not be one matrix to its rule. What it is to it is its
    structure; every block gets its own oracle and its own shape scale, while
    the parameter, its states and its checkpoints stay whole:

    | structure | parameter | blocks |
    | --- | --- | --- |
    | none | m x n | itself |
    | `split [a, b, ...]` | m x n, a + b + ... = m | fused projections (q, k, v): a x n, b x n, ... |
    | `per_head h` | m x n, m a multiple of h | heads of h rows: h x n each |
    | `stacked` | ... x m x n, rank 3 or more | experts: every m x n; with `split` or `per_head` cut on |
    | `convolution` | o x i x k x ..., rank 3 or more | the kernel as one o x (i k ...) matrix; with `split` or `per_head` cut on |

    `split` and `per_head` count rows; followed by `axis 1` they count columns,
    as a projection needs that is stored as inputs x outputs: m x a, m x b, ...
    A CPU's step copies such blocks to its workspace and back, since kernels
    work on whole rows; GPUs refuse them. Sizes that do not add up are errors,
    and so are facts of a whole matrix about its blocks.

    Example:

    ```mlir
    optim.group @head ["lm_head.weight"] uses @rownorm lr 3.2e-3
      facts(#geo.zero_column_sum, #geo.shift_invariant)
    optim.group @qkv ["*.attn.qkv.weight"] uses @muon lr 8.0e-3 split [512, 128, 128]
    optim.group @c_attn ["*.c_attn.weight"] uses @muon lr 8.0e-3 split [512, 512, 512] axis 1
    optim.group @experts ["*.experts.*"] uses @muon lr 8.0e-3 stacked
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$group_name,
    StrArrayAttr:$patterns,
    FlatSymbolRefAttr:$rule,
    F64Attr:$lr,
    DefaultValuedAttr<F64Attr, "0.0">:$wd,
    OptionalAttr<ArrayAttr>:$facts,
    OptionalAttr<DenseI64ArrayAttr>:$split,
    OptionalAttr<I64Attr>:$per_head,
    OptionalAttr<I64Attr>:$axis,
    UnitAttr:$stacked,
    UnitAttr:$convolution);
  let assemblyFormat = [{
    $group_name custom<Patterns>($patterns) `uses` custom<RuleName>($rule)
    `lr` custom<Lr>($lr) ``
    custom<Clauses>($wd, $facts, $split, $per_head, $axis, $stacked, $convolution)
    attr-dict
  }];
  let extraClassDeclaration = [{
    /// The matrices that a parameter of this type is to the rule. `emitError`
    /// begins the message about one that does not fit.
    ::mlir::FailureOr<::llvm::SmallVector<::mlir::optim::MatrixBlock>>
    getBlocks(::mlir::RankedTensorType type,
              ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError);
    ::llvm::LogicalResult verifyStructure();
  }];
  let hasVerifier = 1;
}

def Optim_ParameterOp : Optim_Op<"parameter", [HasParent<"SpecOp">]> {
  let summary = "one weight of the model";
  let description = [{
    The compiler adds these from the model's file. `in` names the group;
    `optim-bind-parameters` finds it from the groups' patterns.

    `aliases` says that the weight has the very storage of another parameter
    (tied embeddings), which is the owner. An alias is updated through its
    owner, once a step, so it appears in no batch; binding refuses it under
    another group than the owner's.

    Example:

    ```mlir
    optim.parameter "embed.weight" : tensor<50257x512xf32> in @embedding
    optim.parameter "lm_head.weight" : tensor<50257x512xf32> aliases "embed.weight"
    ```
  }];
  let arguments = (ins
    StrAttr:$param_name,
    Optim_RankedTensorTypeAttr:$type,
    OptionalAttr<SymbolNameAttr>:$group,
    OptionalAttr<StrAttr>:$aliases);
  let assemblyFormat = [{
    $param_name `:` $type (`in` $group^)? (`aliases` $aliases^)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

def Optim_RuleOp : Optim_Op<"rule", [
    Symbol, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "how one matrix and its state are updated";
  let description = [{
    The body is a function of the weight, its gradient and the state, and
    yields the new weight and the new state. Tensors have rank 2 and elements
    f32; sizes are unknown (`tensor<?x?xf32>`) unless the rule is for one shape
    only. Learning rate, weight decay, clip factor and step number come out of
    the `!optim.scalars` argument and are never constants.

    A state is as large as the weight, or has one column: a number a row. It has
    a name, as checkpoints and the artefact's manifest know it
    (PyTorch's: `momentum_buffer`, `exp_avg`, `exp_avg_sq`); it starts at zero.

    Checked: the signature (weight and gradient of one type, then
    `!optim.scalars`, then the states); names of states are identifiers, occur
    once and are none of `param`, `grad`, `update`, `step`; the types yielded;
    that some result is computed from every state, and that it gets a new value.
    That value may be the gradient or the weight (what they were at the step
    before) or another state.

    Example:

    ```mlir
    optim.rule @rownorm(%u: tensor<?x?xf32>, %g: tensor<?x?xf32>,
                        %h: !optim.scalars)
        state(%b "momentum_buffer": tensor<?x?xf32>) {
      %lr, %wd, %clip, %t = optim.scalars %h
      %gc = geo.scale %g, %clip
      %b1 = geo.ema %b, %gc {beta = 0.95}
      %c  = geo.correct_bias %b1, %t {beta = 0.95}
      %s  = geo.common_ball %c radius(%lr) {eps = 1.0e-8}
      %u1 = geo.apply %u, %s decay(%lr, %wd)
      optim.yield %u1, %b1
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$state_names);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The arguments that come before the states.
    static constexpr unsigned kWeight = 0, kGradient = 1, kScalars = 2,
                              kFirstState = 3;
    ::mlir::BlockArgument getWeight() { return getBody().getArgument(kWeight); }
    ::mlir::BlockArgument getGradient() {
      return getBody().getArgument(kGradient);
    }
    ::mlir::BlockArgument getScalars() {
      return getBody().getArgument(kScalars);
    }
    ::mlir::Block::BlockArgListType getStates() {
      return getBody().getArguments().drop_front(kFirstState);
    }
    ::mlir::optim::YieldOp getYield();
  }];
}

/// What a rule measures: one number in f64, as a tensor of rank 0.
def Optim_Number : Type<CPred<[{
      ::llvm::isa<::mlir::RankedTensorType>($_self) &&
      ::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0 &&
      ::llvm::cast<::mlir::RankedTensorType>($_self).getElementType().isF64()
    }]>, "a tensor<f64>", "::mlir::RankedTensorType">,
    BuildableType<
      "::mlir::RankedTensorType::get({}, $_builder.getF64Type())">;

def Optim_ScalarsOp : Optim_Op<"scalars", [
    Pure, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "take the run-time numbers of a step apart";
  let description = [{
    * `lr`: the learning rate of this step, schedule included;
    * `wd`: the weight decay of the parameter's group;
    * `clip`: what the gradient is to be multiplied with, the caller's gradient
      scale included;
    * `step`: the number of this update, 1 on the first; a skipped step does
      not count.

    Example:

    ```mlir
    %lr, %wd, %clip, %t = optim.scalars %h
    ```
  }];
  let arguments = (ins Optim_ScalarsType:$scalars);
  let results = (outs F32:$lr, F32:$wd, F32:$clip, I64:$step);
  let assemblyFormat = "$scalars attr-dict";
}

def Optim_YieldOp : Optim_Op<"yield", [
    Pure, Terminator, HasParent<"RuleOp">, AttrSizedOperandSegments]> {
  let summary = "end a rule with the new weight and the new state";
  let description = [{
    The new weight first, then the states as declared. Types are written only
    where one of them is not `tensor<?x?xf32>`.

    `measures` are numbers (`tensor<f64>`) under names of their own, for who
    calls the step: a certificate, the row diameter of the increment. They are
    computed where the caller asks for measures, and cost nothing where it does
    not; the weight and the states have the same bits either way.

    Example:

    ```mlir
    optim.yield %u1, %b1
    optim.yield %u1, %b1 : tensor<8x4xf32>, tensor<8x4xf32>
    optim.yield %u1, %b1 measures(%ratio "certificate", %d "diameter")
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values,
                       Variadic<Optim_Number>:$measures,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$measure_names);
  let builders = [OpBuilder<(ins), [{
    build($_builder, $_state, ::mlir::ValueRange(), ::mlir::ValueRange(),
          $_builder.getStrArrayAttr({}));
  }]>];
  let assemblyFormat = [{
    custom<Matrices>($values, type($values)) ``
    custom<Measures>($measures, $measure_names) attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The bound level
//===----------------------------------------------------------------------===//

def Optim_BoundGroupOp : Optim_Op<"bound_group", [HasParent<"SpecOp">]> {
  let summary = "a group whose parameters are known";
  let description = [{
    What is left of an `optim.group` when its patterns and its rule have done
    their work: the names and numbers that the manifest repeats.

    Example:

    ```mlir
    optim.bound_group @backbone uses "muon" lr 8.0e-3 wd 0.1
    ```
  }];
  let arguments = (ins SymbolNameAttr:$group_name, StrAttr:$rule, F64Attr:$lr,
                       DefaultValuedAttr<F64Attr, "0.0">:$wd);
  let assemblyFormat = [{
    $group_name `uses` $rule `lr` custom<Lr>($lr) (`wd` custom<Wd>($wd)^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Optim_BatchOp : Optim_Op<"batch", [HasParent<"SpecOp">]> {
  let summary = "parameters of one rule, shape and set of facts";
  let description = [{
    The first symbol is the function that updates one of these matrices;
    `update` is the same with the signed increment (learning rate included,
    decay excluded) as one more result, for measurements; `squares` gives the
    sums of squares of the rows of one gradient, for the norm and the test
    whether it is finite. All are functions of the module, each for one matrix.
    Later stages erase them, so their presence is checked by those who read
    them, not here.

    Where the rule yields measures, `measured` names the two updates that
    compute them as well, without and with the increment, and the measures in
    their order.

    Where states are mean rows of other states (convention `"mean"`), `refresh`
    names the function that computes them from those: it takes all states of the
    update and returns them. `squares` gives the gradient's mean row then, too.

    A matrix may be a part of its parameter: `rows` gives the first row of each,
    in the parameter seen as one matrix, and `columns` the first column. Each is
    left out where all start at 0, as a parameter that is one matrix does.

    Example:

    ```mlir
    optim.batch @muon_512x512 update @muon_512x512_update
      squares @squares_512x512 ["blocks.0.attn.q.weight", "blocks.0.attn.k.weight"]
    optim.batch @muon_512x512 update @muon_512x512_update
      squares @squares_512x512 ["qkv", "qkv", "qkv"] rows [0, 512, 1024]
    optim.batch @muon_512x512 update @muon_512x512_update
      squares @squares_512x512 ["c_attn", "c_attn", "c_attn"] columns [0, 512, 1024]
    optim.batch @rownorm_1000x64 update @rownorm_1000x64_update
      squares @squares_1000x64 ["lm_head.weight"]
      measured @rownorm_1000x64_measured, @rownorm_1000x64_update_measured
      ["certificate"]
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$function, FlatSymbolRefAttr:$update,
                       FlatSymbolRefAttr:$squares, StrArrayAttr:$parameters,
                       OptionalAttr<DenseI64ArrayAttr>:$rows,
                       OptionalAttr<DenseI64ArrayAttr>:$columns,
                       OptionalAttr<FlatSymbolRefAttr>:$measured,
                       OptionalAttr<FlatSymbolRefAttr>:$measured_update,
                       OptionalAttr<StrArrayAttr>:$measures,
                       OptionalAttr<FlatSymbolRefAttr>:$refresh);
  let assemblyFormat = [{
    $function `update` $update `squares` $squares (`refresh` $refresh^)?
    $parameters (`rows` $rows^)?
    (`columns` $columns^)?
    (`measured` $measured^ `,` $measured_update $measures)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// The first row of matrix `index` in its parameter.
    int64_t getFirstRow(size_t index) {
      return getRows() ? (*getRows())[index] : 0;
    }
    /// Its first column.
    int64_t getFirstColumn(size_t index) {
      return getColumns() ? (*getColumns())[index] : 0;
    }
  }];
  let hasVerifier = 1;
}

#endif // STEEP_DIALECTS_OPTIM_OPTIMOPS_TD

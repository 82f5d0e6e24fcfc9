//===- OptimDialect.td - the optim dialect -----------------*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_OPTIM_OPTIMDIALECT_TD
#define STEEP_DIALECTS_OPTIM_OPTIMDIALECT_TD

include "mlir/IR/DialectBase.td"

def Optim_Dialect : Dialect {
  let name = "optim";
  let cppNamespace = "::mlir::optim";
  let summary = "Which parameter is updated by which rule.";
  let description = [{
    A spec says which parameters there are, which rule updates each of them,
    with which learning rate and weight decay, and what holds for all of them:
    the schedule, the clipping and the treatment of non-finite gradients. What
    a rule computes is said with ops of the `geo` dialect in the body of
    `optim.rule`.

    The dialect has two levels.

    *Spec level*, what a user writes: `optim.spec` holds `optim.group`s (name
    patterns) and, once the model is known, one `optim.parameter` for each
    weight; `optim.rule`s stand beside the spec and work on tensors of unknown
    size.

    *Bound level*, after the passes `optim-bind-parameters`,
    `optim-instantiate-rules` and `optim-batch-parameters`: there are no groups
    and no rules any more. The spec holds `optim.bound_group`s, parameters that
    say their group, and `optim.batch`es; each batch names ordinary functions
    on tensors of static size, one for each distinct rule, shape and set of
    facts. The arguments of these functions say what they are by attributes:

    | attribute          | on                | value |
    | ------------------ | ----------------- | ----- |
    | `optim.role`       | argument, result  | `"weight"`, `"gradient"`, `"state"`, `"lr"`, `"wd"`, `"clip"`, `"step"`, `"update"`, `"squares"`, `"gradient_mean"` (its mean row), `"measure"`, `"workspace"` |
    | `optim.state`      | state argument    | the name of the state, `"momentum_buffer"` |
    | `optim.convention` | state argument    | how the state is averaged: `"sum"`, `"ema"`, `"adam"`, `"other"`; `"mean"`: it is the mean row of another state |
    | `optim.beta`       | state argument    | the weight of what was averaged before, where it is one constant |
    | `optim.rule`       | function          | the name of the rule it was made from |
    | `optim.count`      | function          | number of matrices in its batch |

    Example:

    ```mlir
    optim.spec @paper schedule(#optim.warmup_cosine<warmup = 0.1, floor = 0.1>)
                      clip(#optim.global_norm<1.0>) {
      optim.group @head ["lm_head.weight"] uses @rownorm lr 3.2e-3
    }
    optim.rule @rownorm(%u: tensor<?x?xf32>, %g: tensor<?x?xf32>,
                        %h: !optim.scalars)
        state(%b "momentum_buffer": tensor<?x?xf32>) {
      %lr, %wd, %clip, %t = optim.scalars %h
      ...
      optim.yield %u1, %b1
    }
    ```
  }];
  // Its own attribute parser tells what there is where a name is unknown.
  let useDefaultAttributePrinterParser = 0;
  let useDefaultTypePrinterParser = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attribute,
                        ::mlir::DialectAsmPrinter &printer) const override;
    std::optional<ParseOpHook>
    getParseOperationHook(::llvm::StringRef name) const override;
    void registerAttributes();
    void registerTypes();
  }];
}

#endif // STEEP_DIALECTS_OPTIM_OPTIMDIALECT_TD

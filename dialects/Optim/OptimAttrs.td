//===- OptimAttrs.td - attributes and types of optim -------*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_OPTIM_OPTIMATTRS_TD
#define STEEP_DIALECTS_OPTIM_OPTIMATTRS_TD

include "dialects/Optim/OptimDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class Optim_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Optim_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
  let genVerifyDecl = 1;
  let hasCustomAssemblyFormat = 1;
}

def Optim_WarmupCosineAttr : Optim_Attr<"WarmupCosine", "warmup_cosine"> {
  let summary = "linear warm-up, then half a cosine down to a floor";
  let description = [{
    The factor on every learning rate at update `t`, counted from 0, of `T`
    updates in all, with `w = floor(warmup * T)` (arXiv:2608.22253, training
    recipe):

    1. `t < w`: `t / w`, so that update 0 has learning rate 0;
    2. else `floor + (1 - floor) * (1 + cos(pi * p)) / 2` with
       `p = min(1, (t - w) / (T - w - 1))`;
    3. with `T - w = 1` the factor of that one update is `floor`.

    `warmup` is in [0, 1) and `floor` in [0, 1]. A spec without a schedule has
    the factor 1 throughout.

    Example:

    ```mlir
    schedule(#optim.warmup_cosine<warmup = 0.1, floor = 0.1>)
    ```
  }];
  let parameters = (ins APFloatParameter<"share of updates that warm up">:$warmup,
                        APFloatParameter<"factor at the end">:$floor);
  let builders = [AttrBuilder<(ins "double":$warmup, "double":$floor), [{
    return $_get($_ctxt, ::llvm::APFloat(warmup), ::llvm::APFloat(floor));
  }]>];
}

def Optim_GlobalNormAttr : Optim_Attr<"GlobalNorm", "global_norm"> {
  let summary = "clip all gradients by the norm over all parameters";
  let description = [{
    Every gradient is multiplied by `min(1, max / (norm + 1e-6))`, where `norm`
    is the Euclidean norm over the gradients of all parameters, before any
    rule sees it: clipping stands before the oracle, never after it.
    `max` is positive and finite. A spec without clipping has the factor 1.

    Example:

    ```mlir
    clip(#optim.global_norm<1.0>)
    ```
  }];
  let parameters = (ins APFloatParameter<"largest norm that is let through">:$max);
  let builders = [AttrBuilder<(ins "double":$max), [{
    return $_get($_ctxt, ::llvm::APFloat(max));
  }]>];
}

// `skip`: weights and states stay as they are, the step counter does not
// advance, and the step reports the parameter. `error`: the step refuses, with
// the same guarantee.
def Optim_NonFiniteAttr : I32EnumAttr<"NonFinite",
    "what a step does about a gradient that is not finite", [
      I32EnumAttrCase<"Skip", 0, "skip">,
      I32EnumAttrCase<"Error", 1, "error">]> {
  let cppNamespace = "::mlir::optim";
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Optim_ScalarsType : TypeDef<Optim_Dialect, "Scalars"> {
  let mnemonic = "scalars";
  let summary = "the numbers that a step gets at run time";
  let description = [{
    Learning rate, weight decay, clip factor and step number: what changes
    from step to step or from run to run, and hence is never a constant in the
    compiled code. `optim.scalars` takes it apart.
  }];
}

#endif // STEEP_DIALECTS_OPTIM_OPTIMATTRS_TD

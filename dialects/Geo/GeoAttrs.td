//===- GeoAttrs.td - facts and precisions ------------------*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_GEO_GEOATTRS_TD
#define STEEP_DIALECTS_GEO_GEOATTRS_TD

include "dialects/Geo/Geo.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Geo_Fact<string name, string mnemonic_> : AttrDef<Geo_Dialect, name> {
  let mnemonic = mnemonic_;
}

def Geo_ZeroColumnSumAttr : Geo_Fact<"ZeroColumnSum", "zero_column_sum"> {
  let summary = "every column of the matrix sums to zero";
  let description = [{
    A fact of a gradient: `1^T G = 0`, so `P G = G`. It holds for the weight of
    an untied language-model head without bias under softmax cross entropy, and
    then for every linear combination of such gradients, momentum from a zero
    start included. Tied embeddings, z-loss or a bias break it
    (arXiv:2608.22253, section on the head's gradient).
  }];
}

def Geo_ShiftInvariantAttr : Geo_Fact<"ShiftInvariant", "shift_invariant"> {
  let summary = "adding one row vector to all rows changes nothing";
  let description = [{
    A fact of a weight: the model is the same for `U` and `U + 1 a^T`, as it is
    for an untied head that feeds a softmax. Then an increment matters only up
    to a common row, and centring it is invisible.
  }];
}

def Geo_Dot : I32EnumAttr<"Dot", "precision of a geometry's matrix products", [
    I32EnumAttrCase<"ieee", 0>, I32EnumAttrCase<"tf32x3", 1>,
    I32EnumAttrCase<"bf16", 2>]> {
  let cppNamespace = "::mlir::geo";
  let genSpecializedAttr = 0;
}

def Geo_DotAttr : EnumAttr<Geo_Dialect, Geo_Dot, "dot"> {
  let description = [{
    The bound that a user sets on precision: `ieee` (every product and sum in
    binary32, fused), `tf32x3` (three TF32 products stand for one), `bf16`
    (operands rounded to BF16, sums and iterates in binary32).
  }];
}

#endif // STEEP_DIALECTS_GEO_GEOATTRS_TD

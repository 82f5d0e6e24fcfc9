//===- Table.cpp - the kernels of one instruction set, as a table ---------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/Kernels/Isa.h"

#define STEEP_STRING_OF(x) #x
#define STEEP_STRING(x) STEEP_STRING_OF(x)

const steep::Kernels steep::STEEP_ISA::kernels = {
    STEEP_STRING(STEEP_ISA),
    norm,
    normBackward,
    normRotate,
    normRotateBackward,
    swiglu,
    swigluBackward,
    softmaxUpdate,
    softmaxScale,
    attention,
    attentionBackward,
    exponentials,
};

//===- Block.h - the block dialect ------------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_BLOCK_BLOCK_H
#define STEEP_DIALECTS_BLOCK_BLOCK_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

#include "dialects/Block/BlockDialect.h.inc"
#include "dialects/Block/BlockEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Block/BlockAttrs.h.inc"

#endif // STEEP_DIALECTS_BLOCK_BLOCK_H

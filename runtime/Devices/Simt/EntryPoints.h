//===- EntryPoints.h - what retargeted code calls ---------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_ENTRYPOINTS_H
#define STEEP_RUNTIME_DEVICES_SIMT_ENTRYPOINTS_H

#include "runtime/Devices/Simt/Block.h"

#include <cstdint>

extern "C" {
/// Performs the site's operation.
void steepSimtOperation(steep::simt::Context *context,
                        const steep::simt::Site *site, std::uint64_t *operands,
                        std::uint64_t *results);
/// The fuel of a lane is used up: others get their turn.
void steepSimtLookUp(steep::simt::Context *context,
                     const steep::simt::Site *site);
/// Checks an access of a checked program; `value` points to the bytes that are
/// about to be written, or is null.
void steepSimtRead(steep::simt::Context *context, const steep::simt::Site *site,
                   const char *address, const char *base, std::uint64_t bytes,
                   const char *value);
void steepSimtWrite(steep::simt::Context *context,
                    const steep::simt::Site *site, const char *address,
                    const char *base, std::uint64_t bytes, const char *value);
void steepSimtAtomic(steep::simt::Context *context,
                     const steep::simt::Site *site, const char *address,
                     const char *base, std::uint64_t bytes, const char *value);
}

#endif // STEEP_RUNTIME_DEVICES_SIMT_ENTRYPOINTS_H

//===- EntryPoints.cpp - what retargeted code calls -----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/EntryPoints.h"

#include "runtime/Devices/Simt/Shadow.h"

using namespace steep::simt;

void steepSimtOperation(Context *context, const Site *site,
                        std::uint64_t *operands, std::uint64_t *results) {
  Lane &lane = *reinterpret_cast<Lane *>(context);
  lane.block->perform(lane, *site, operands, results);
}

void steepSimtLookUp(Context *context, const Site *site) {
  Lane &lane = *reinterpret_cast<Lane *>(context);
  lane.block->lookUp(lane, *site);
}

static void check(Context *context, const Site *site, const char *address,
                  const char *base, std::uint64_t bytes, const char *value,
                  Access kind) {
  Lane &lane = *reinterpret_cast<Lane *>(context);
  Block &block = *lane.block;
  block.shadow->access(lane, *site, address, base, bytes, kind, value);
  if (block.isStopped())
    block.leave(lane);
}

void steepSimtRead(Context *context, const Site *site, const char *address,
                   const char *base, std::uint64_t bytes, const char *value) {
  check(context, site, address, base, bytes, value, Access::Read);
}

void steepSimtWrite(Context *context, const Site *site, const char *address,
                    const char *base, std::uint64_t bytes, const char *value) {
  check(context, site, address, base, bytes, value, Access::Write);
}

void steepSimtAtomic(Context *context, const Site *site, const char *address,
                     const char *base, std::uint64_t bytes, const char *value) {
  check(context, site, address, base, bytes, value, Access::Atomic);
}

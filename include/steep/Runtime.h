//===- Runtime.h - the runtime, for programs of one's own -------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that a program needs to load an artefact, take steps and read and
// write tensors and token shards. Errors are exceptions of steep::Error. For C
// and for programs without this library, steep/steep.h and the artefact's own
// header are all there is to it.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_H
#define STEEP_RUNTIME_H

#include "runtime/Core/Artefact.h"
#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"
#include "runtime/Core/Manifest.h"
#include "runtime/Core/Safetensors.h"
#include "runtime/Core/Tensor.h"
#include "runtime/Core/ThreadPool.h"
#include "runtime/Data/DataLoader.h"
#include "runtime/Data/Shard.h"
#include "runtime/Data/Tokenizer.h"
#include "runtime/Devices/Device.h"
#include "runtime/Geometry/Measure.h"
#include "steep/steep.h"

#endif // STEEP_RUNTIME_H

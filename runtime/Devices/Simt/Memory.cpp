//===- Memory.cpp - global memory and shared windows ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Memory.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace steep::simt {

static constexpr std::size_t kPage = 4096;
static constexpr std::size_t kAlignment = 256;

static std::size_t roundUp(std::size_t n, std::size_t to) {
  return (n + to - 1) / to * to;
}

GlobalMemory &GlobalMemory::instance() {
  static GlobalMemory memory;
  return memory;
}

void *GlobalMemory::allocate(std::size_t bytes) {
  std::size_t used = roundUp(bytes, kAlignment);
  std::size_t mapped = roundUp(used, kPage) + 2 * kPage;
  if (bytes == 0 || used < bytes || mapped < used)
    return nullptr;
  void *mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    return nullptr;
  char *end = static_cast<char *>(mapping) + mapped - kPage;
  mprotect(mapping, kPage, PROT_NONE);
  mprotect(end, kPage, PROT_NONE);
  char *begin = end - used;
  std::memset(begin, 0xff, used);

  std::lock_guard<std::mutex> lock(mutex);
  Allocation made;
  made.range = {begin, bytes, "allocation " + std::to_string(this->made++)};
  made.mapping = mapping;
  made.mapped = mapped;
  allocations.emplace(begin, std::move(made));
  return begin;
}

bool GlobalMemory::release(void *pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = allocations.find(static_cast<char *>(pointer));
  if (it == allocations.end() || !it->second.mapping)
    return false;
  munmap(it->second.mapping, it->second.mapped);
  allocations.erase(it);
  return true;
}

bool GlobalMemory::contains(const void *pointer, std::size_t bytes) const {
  Range range;
  const char *p = static_cast<const char *>(pointer);
  return find(p, range) && range.contains(p, bytes);
}

void GlobalMemory::adopt(void *pointer, std::size_t bytes,
                         const std::string &name) {
  std::lock_guard<std::mutex> lock(mutex);
  Allocation adopted;
  adopted.range = {static_cast<char *>(pointer), bytes, name};
  allocations[static_cast<char *>(pointer)] = std::move(adopted);
}

void GlobalMemory::disown(void *pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = allocations.find(static_cast<char *>(pointer));
  if (it != allocations.end() && !it->second.mapping)
    allocations.erase(it);
}

const GlobalMemory::Allocation *GlobalMemory::locate(const char *p) const {
  auto it = allocations.upper_bound(p);
  if (it == allocations.begin())
    return nullptr;
  const Allocation &candidate = (--it)->second;
  return candidate.range.contains(p, 0) ? &candidate : nullptr;
}

bool GlobalMemory::find(const char *p, Range &range) const {
  std::lock_guard<std::mutex> lock(mutex);
  const Allocation *found = locate(p);
  if (found)
    range = found->range;
  return found != nullptr;
}

template <typename Groups>
static void removeGroup(Groups &groups, const char *begin) {
  groups.erase(
      std::remove_if(groups.begin(), groups.end(),
                     [&](const auto &group) { return group.begin == begin; }),
      groups.end());
}

bool GlobalMemory::declare(const std::string &name, void *pointer,
                           std::size_t bytes, std::size_t stride,
                           std::size_t count) {
  std::lock_guard<std::mutex> lock(mutex);
  char *begin = static_cast<char *>(pointer);
  auto *owner = const_cast<Allocation *>(locate(begin));
  if (owner && bytes == 0) {
    removeGroup(owner->groups, begin);
    return true;
  }
  if (!owner || count == 0 || bytes == 0 || (count > 1 && stride < bytes) ||
      (count > 1 && stride > owner->range.bytes / (count - 1)) ||
      !owner->range.contains(begin, (count - 1) * stride + bytes))
    return false;
  // The newest division holds where a planner lays out the same memory anew.
  removeGroup(owner->groups, begin);
  owner->groups.push_back({name, begin, bytes, stride ? stride : bytes, count});
  return true;
}

bool GlobalMemory::reach(const char *base, const char *p, Range &range) const {
  std::lock_guard<std::mutex> lock(mutex);
  const Allocation *owner = locate(base ? base : p);
  if (!owner)
    return false;
  range = owner->range;
  if (!base)
    return true;
  for (const Group &group : owner->groups) {
    if (base != group.begin &&
        (base < group.begin || (base - group.begin) % group.stride ||
         (base - group.begin) / group.stride >= group.count))
      continue;
    std::size_t part = p < group.begin ? 0 : (p - group.begin) / group.stride;
    part = part < group.count ? part : group.count - 1;
    range = {group.begin + part * group.stride, group.bytes, group.name};
    return true;
  }
  return true;
}

SharedWindow::SharedWindow() {
  void *mapped =
      mmap(nullptr, 3 * kBytes, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    return;
  mapping = mapped;
  auto address = reinterpret_cast<std::uintptr_t>(mapped);
  window = reinterpret_cast<char *>(roundUp(address + 1, kBytes));
  mprotect(window, kBytes, PROT_READ | PROT_WRITE);
}

SharedWindow::~SharedWindow() {
  if (mapping)
    munmap(mapping, 3 * kBytes);
}

} // namespace steep::simt

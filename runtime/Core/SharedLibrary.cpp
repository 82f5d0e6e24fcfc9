//===- SharedLibrary.cpp - a library that may be opened -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/SharedLibrary.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/RandomAccessFile.h"

#include <cstring>
#include <elf.h>
#include <vector>

namespace steep {

/// Whether `count` entries of `size` bytes from `begin` on are in the file.
static bool isInside(uint64_t begin, uint64_t size, uint64_t count,
                     uint64_t fileSize) {
  uint64_t bytes = 0, end = 0;
  return !__builtin_mul_overflow(size, count, &bytes) &&
         !__builtin_add_overflow(begin, bytes, &end) && end <= fileSize;
}

void checkSharedLibrary(const std::string &path) {
  RandomAccessFile file(path);
  Elf64_Ehdr header;
  if (file.size() < sizeof header)
    fail("{}: it is not a shared library", quote(path));
  file.read(&header, sizeof header, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_type != ET_DYN)
    fail("{}: it is not a shared library", quote(path));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
    fail("{}: it is a shared library of another machine than x86-64",
         quote(path));
  bool whole =
      header.e_phentsize == sizeof(Elf64_Phdr) &&
      isInside(header.e_phoff, header.e_phentsize, header.e_phnum,
               file.size()) &&
      isInside(header.e_shoff, header.e_shentsize, header.e_shnum, file.size());
  if (whole) {
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    file.read(segments.data(), sizeof(Elf64_Phdr) * segments.size(),
              header.e_phoff);
    for (const Elf64_Phdr &segment : segments)
      whole &= segment.p_type != PT_LOAD ||
               isInside(segment.p_offset, 1, segment.p_filesz, file.size());
  }
  if (!whole)
    fail("{}: it is cut off or damaged", quote(path));
}

} // namespace steep

/*===-- Message.c - what a refusal says ---------------------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Host.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The one thing that a library keeps, for each thread. It is touched by
 * refusals alone, so that a step that is taken allocates no thread-local
 * memory. */
static __thread char last_error[1024];

const char *steep_host_export_last_error(void) { return last_error; }

static int32_t say(char *message, uint64_t bytes, int32_t code,
                   const char *format, va_list list) {
  vsnprintf(last_error, sizeof last_error, format, list);
  if (message && bytes > 0) {
    size_t length = strlen(last_error);
    if (length > bytes - 1)
      length = (size_t)bytes - 1;
    memcpy(message, last_error, length);
    message[length] = 0;
  }
  return code;
}

int32_t steep_host_say(char *message, uint64_t bytes, int32_t code,
                       const char *format, ...) {
  va_list list;
  va_start(list, format);
  code = say(message, bytes, code, format, list);
  va_end(list);
  return code;
}

int32_t steep_host_fail(const steep_step_args *args, int32_t code,
                        const char *format, ...) {
  va_list list;
  va_start(list, format);
  code = say(args->message, args->message_bytes, code, format, list);
  va_end(list);
  return code;
}

int32_t steep_host_short(const char *what, uint32_t got, size_t least) {
  return steep_host_say(NULL, 0, STEEP_VERSION_MISMATCH,
                        "%s: expected a struct_size of at least %u, got %u",
                        what, (unsigned)least, (unsigned)got);
}

const char *steep_host_quote(char out[STEEP_QUOTED_BYTES], const char *name) {
  static const char digits[] = "0123456789abcdef";
  size_t n = 0;
  for (; *name && n + 8 < STEEP_QUOTED_BYTES; ++name) {
    unsigned char c = (unsigned char)*name;
    if (c >= 0x20 && c != 0x7f && c != '"' && c != '\\') {
      out[n++] = (char)c;
      continue;
    }
    out[n++] = '\\';
    out[n++] = 'x';
    out[n++] = digits[c >> 4];
    out[n++] = digits[c & 15];
  }
  if (*name) {
    memcpy(out + n, "...", 3);
    n += 3;
  }
  out[n] = 0;
  return out;
}

/*===-- XlaApi.h - what a handler needs of XLA's FFI --------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* XLA's foreign function interface by its published layout (version 0.x of   *|
|* xla/ffi/api/c_api.h, which jax.ffi.include_dir() contains): our own names  *|
|* for the fields, and only what is used here. Structures begin with their    *|
|* size and a list of extensions, and grow at their ends.                     *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef STEEP_HOST_XLAAPI_H
#define STEEP_HOST_XLAAPI_H

#include <stddef.h>
#include <stdint.h>

typedef struct xla_extension {
  size_t struct_size;
  int32_t type;
  struct xla_extension *next;
} xla_extension;

enum { XLA_EXTENSION_METADATA = 1 };
enum { XLA_STAGE_EXECUTE = 3 };
enum { XLA_INVALID_ARGUMENT = 3, XLA_INTERNAL = 13 };
enum { XLA_S32 = 4, XLA_U8 = 6, XLA_F32 = 11 };

#define XLA_HEAD                                                               \
  size_t struct_size;                                                          \
  xla_extension *extensions

typedef struct {
  XLA_HEAD;
  int32_t major, minor;
} xla_version;

typedef struct {
  XLA_HEAD;
  int32_t dtype;
  void *data;
  int64_t rank;
  int64_t *dims;
} xla_buffer;

/* Arguments or results; all of ours are buffers. */
typedef struct {
  XLA_HEAD;
  int64_t size;
  int32_t *types;
  xla_buffer **buffers;
} xla_buffers;

typedef struct {
  XLA_HEAD;
  int64_t size;
  int32_t *types;
  void **names;
  void **values;
} xla_attributes;

typedef struct xla_error xla_error;
typedef struct xla_context xla_context;

typedef struct {
  XLA_HEAD;
  const char *message;
  int32_t code;
} xla_error_create;

typedef struct {
  XLA_HEAD;
  xla_error *error;
} xla_error_destroy;

typedef struct {
  XLA_HEAD;
  xla_context *context;
  void (*task)(void *data);
  void *data;
} xla_schedule;

typedef struct {
  XLA_HEAD;
  xla_context *context;
  int64_t *threads;
} xla_count_threads;

typedef void (*xla_unused)(void);

typedef struct {
  XLA_HEAD;
  xla_version version;
  const void *internal;
  xla_error *(*create_error)(xla_error_create *);
  xla_unused get_message;
  void (*destroy_error)(xla_error_destroy *);
  xla_unused register_handler, get_stream, register_type, get_from_context;
  xla_unused set_state, get_state, allocate, deallocate;
  xla_error *(*schedule)(xla_schedule *);
  xla_error *(*count_threads)(xla_count_threads *);
} xla_api;

typedef struct {
  XLA_HEAD;
  const xla_api *api;
  xla_context *context;
  int32_t stage;
  xla_buffers arguments, results;
  xla_attributes attributes;
} xla_call;

typedef struct {
  size_t struct_size;
  xla_version version;
  uint32_t traits;
} xla_metadata;

typedef struct {
  xla_extension base;
  xla_metadata *metadata;
} xla_metadata_extension;

#endif /* STEEP_HOST_XLAAPI_H */

/*===-- Host.h - what the host code's files share -----------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* Functions called steep_host_export_X become the artefact's steep_NAME_X;   *|
|* all others become internal.                                                *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef STEEP_HOST_HOST_H
#define STEEP_HOST_HOST_H

#include "Tables.h"
#include "steep/steep.h"

/* What a call is about to do; decides which tensors must be there. */
enum { STEEP_PREPARE = 1, STEEP_APPLY = 2 };

/* Writes one line to `message`, where there is one, and keeps it for
 * last_error; returns `code`. */
int32_t steep_host_say(char *message, uint64_t bytes, int32_t code,
                       const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same to args->message. */
int32_t steep_host_fail(const steep_step_args *args, int32_t code,
                        const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses a structure of `got` bytes, where version 1.0 has `least`. */
int32_t steep_host_short(const char *what, uint32_t got, size_t least);

/* `name` as it stands between quotes in a message: control characters are
 * escaped, so that a message is one line, and a long name is cut. */
enum { STEEP_QUOTED_BYTES = 200 };
const char *steep_host_quote(char out[STEEP_QUOTED_BYTES], const char *name);

/* Everything that can be wrong with the arguments, before anything is
 * written. */
int32_t steep_host_check(const steep_step_args *args, int32_t actions);

/* The entries that others call under another convention. */
int32_t steep_host_export_step(steep_step_args *args);

/* The GPU that the step runs on; NULL for the CPU. */
steep_device *steep_host_device(const steep_step_args *args);

/* Host memory that the check for overlap sorts in: the workspace on the CPU,
 * the device object's on a GPU. */
uint64_t steep_host_scratch_bytes(void);

/* Where the caller wants the rules' measures; NULL where it does not. */
double *steep_host_measures(const steep_step_args *args);

/* The scalar's value, now. */
double steep_host_scalar(const steep_scalar *scalar);

/* The first element of a dense tensor. */
void *steep_host_data(const DLTensor *tensor);

#endif /* STEEP_HOST_HOST_H */

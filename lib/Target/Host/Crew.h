/*===-- Crew.h - threads that share a loop ------------------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* Where the threads come from is the affair of Pool.c and Xla.c. The thread  *|
|* that runs a loop works too, so one that never joins costs speed, no more.  *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef STEEP_HOST_CREW_H
#define STEEP_HOST_CREW_H

#include <pthread.h>
#include <stdint.h>

typedef struct {
  pthread_mutex_t lock; /* guards all that follows */
  pthread_cond_t wake, done;
  void (*task)(void *data, int64_t begin, int64_t end);
  void *data;
  int64_t count, next, finished, chunk;
  int32_t stop;
} steep_crew;

void steep_host_crew_init(steep_crew *crew);
void steep_host_crew_destroy(steep_crew *crew);

/* Calls task(data, begin, end) on ranges that cover 0 .. count - 1, by this
 * thread and those that have joined; `threads` says how finely it is cut. One
 * call at a time. */
void steep_host_crew_run(steep_crew *crew, int32_t threads, int64_t count,
                         void (*task)(void *data, int64_t begin, int64_t end),
                         void *data);

/* Works on this thread until the crew is dismissed. */
void steep_host_crew_join(steep_crew *crew);
void steep_host_crew_dismiss(steep_crew *crew);

#endif /* STEEP_HOST_CREW_H */

/*===-- Pool.c - threads for callers that have none ---------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* A crew with threads of its own; the calling thread works too.              *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Crew.h"
#include "Host.h"

#include <signal.h>
#include <stdlib.h>

typedef struct {
  steep_pool base;        /* first: the caller's pointer is ours */
  pthread_mutex_t caller; /* one call at a time */
  steep_crew crew;
  int32_t workers;
  pthread_t threads[];
} pool_state;

static void *worker(void *argument) {
  steep_host_crew_join(&((pool_state *)argument)->crew);
  return NULL;
}

static void run(void *context, int64_t count,
                void (*task)(void *data, int64_t begin, int64_t end),
                void *data) {
  pool_state *p = context;
  pthread_mutex_lock(&p->caller);
  steep_host_crew_run(&p->crew, p->base.threads, count, task, data);
  pthread_mutex_unlock(&p->caller);
}

void steep_host_export_pool_destroy(steep_pool *pool) {
  pool_state *p = (pool_state *)(void *)pool;
  int32_t i;
  if (!p)
    return;
  steep_host_crew_dismiss(&p->crew);
  for (i = 0; i < p->workers; ++i)
    pthread_join(p->threads[i], NULL);
  steep_host_crew_destroy(&p->crew);
  pthread_mutex_destroy(&p->caller);
  free(p);
}

/* Starts the workers with every signal blocked: signals belong to the
 * program's own threads. */
static int start_workers(pool_state *p, int32_t count) {
  sigset_t all, old;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0)
    return 0;
  while (p->workers < count &&
         pthread_create(&p->threads[p->workers], NULL, worker, p) == 0)
    ++p->workers;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return p->workers == count;
}

/* No pool, and last_error says why. */
static steep_pool *refuse_threads(double threads) {
  steep_host_say(NULL, 0, STEEP_INVALID_ARGUMENT,
                 "threads: expected 1 to 1024 that the system has, got %.10g",
                 threads);
  return NULL;
}

steep_pool *steep_host_pool(double number) {
  int32_t threads;
  pool_state *p;
  if (!(number >= 1 && number <= 1024) || number != (int32_t)number)
    return refuse_threads(number);
  threads = (int32_t)number;
  p = calloc(1, sizeof *p + (size_t)(threads - 1) * sizeof p->threads[0]);
  if (!p)
    return refuse_threads(threads);
  p->base.struct_size = sizeof(steep_pool);
  p->base.threads = threads;
  p->base.context = p;
  p->base.run = run;
  /* With default attributes it cannot fail on Linux. */
  pthread_mutex_init(&p->caller, NULL);
  steep_host_crew_init(&p->crew);
  if (!start_workers(p, threads - 1)) {
    steep_host_export_pool_destroy(&p->base);
    return refuse_threads(threads);
  }
  return &p->base;
}

steep_pool *steep_host_export_pool_create(int32_t threads) {
  return steep_host_pool(threads);
}

/*===-- Pool.c - threads for callers that have none ---------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* Workers sleep between calls; the calling thread works too. Items are taken *|
|* in chunks under the lock: a call has few of them, so it is never contended.*|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Host.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

typedef struct {
  steep_pool base;        /* first: the caller's pointer is ours */
  pthread_mutex_t caller; /* one call at a time */
  pthread_mutex_t lock;   /* guards all that follows */
  pthread_cond_t wake, done;
  void (*task)(void *data, int64_t begin, int64_t end);
  void *data;
  int64_t count, next, finished, chunk;
  int32_t stop, workers;
  pthread_t threads[];
} pool_state;

/* Works until no item is left. The lock is held before and after. */
static void work(pool_state *p) {
  while (p->next < p->count) {
    int64_t begin = p->next, rest = p->count - begin;
    int64_t end = begin + (rest < p->chunk ? rest : p->chunk);
    void (*task)(void *, int64_t, int64_t) = p->task;
    void *data = p->data;
    p->next = end;
    pthread_mutex_unlock(&p->lock);
    task(data, begin, end);
    pthread_mutex_lock(&p->lock);
    p->finished += end - begin;
    if (p->finished == p->count)
      pthread_cond_signal(&p->done);
  }
}

static void *worker(void *argument) {
  pool_state *p = argument;
  pthread_mutex_lock(&p->lock);
  while (!p->stop) {
    work(p);
    if (!p->stop)
      pthread_cond_wait(&p->wake, &p->lock);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

static void run(void *context, int64_t count,
                void (*task)(void *data, int64_t begin, int64_t end),
                void *data) {
  pool_state *p = context;
  int64_t chunks = (int64_t)p->base.threads * 4;
  if (count <= 0)
    return;
  if (p->workers == 0 || count == 1) {
    task(data, 0, count);
    return;
  }
  pthread_mutex_lock(&p->caller);
  pthread_mutex_lock(&p->lock);
  p->task = task;
  p->data = data;
  p->chunk = (count + chunks - 1) / chunks;
  p->next = 0;
  p->finished = 0;
  p->count = count;
  pthread_cond_broadcast(&p->wake);
  work(p);
  while (p->finished < p->count)
    pthread_cond_wait(&p->done, &p->lock);
  p->count = p->next = p->finished = 0;
  pthread_mutex_unlock(&p->lock);
  pthread_mutex_unlock(&p->caller);
}

void steep_host_export_pool_destroy(steep_pool *pool) {
  pool_state *p = (pool_state *)(void *)pool;
  int32_t i;
  if (!p)
    return;
  pthread_mutex_lock(&p->lock);
  p->stop = 1;
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
  for (i = 0; i < p->workers; ++i)
    pthread_join(p->threads[i], NULL);
  pthread_cond_destroy(&p->done);
  pthread_cond_destroy(&p->wake);
  pthread_mutex_destroy(&p->lock);
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

steep_pool *steep_host_export_pool_create(int32_t threads) {
  pool_state *p;
  if (threads < 1 || threads > 1024)
    return NULL;
  p = calloc(1, sizeof *p + (size_t)(threads - 1) * sizeof p->threads[0]);
  if (!p)
    return NULL;
  p->base.struct_size = sizeof(steep_pool);
  p->base.threads = threads;
  p->base.context = p;
  p->base.run = run;
  /* With default attributes these cannot fail on Linux. */
  pthread_mutex_init(&p->caller, NULL);
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->wake, NULL);
  pthread_cond_init(&p->done, NULL);
  if (!start_workers(p, threads - 1)) {
    steep_host_export_pool_destroy(&p->base);
    return NULL;
  }
  return &p->base;
}

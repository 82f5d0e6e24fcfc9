/*===-- Crew.c - threads that share a loop ------------------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* Workers sleep between loops. Items are taken in chunks under the lock: a   *|
|* loop has few of them, so it is never contended.                            *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Crew.h"

/* With default attributes these cannot fail on Linux. */
void steep_host_crew_init(steep_crew *crew) {
  pthread_mutex_init(&crew->lock, NULL);
  pthread_cond_init(&crew->wake, NULL);
  pthread_cond_init(&crew->done, NULL);
  crew->count = crew->next = crew->finished = 0;
  crew->stop = 0;
}

void steep_host_crew_destroy(steep_crew *crew) {
  pthread_cond_destroy(&crew->wake);
  pthread_cond_destroy(&crew->done);
  pthread_mutex_destroy(&crew->lock);
}

/* Works until no item is left. The lock is held before and after. */
static void work(steep_crew *crew) {
  while (crew->next < crew->count) {
    int64_t begin = crew->next, rest = crew->count - begin;
    int64_t end = begin + (rest < crew->chunk ? rest : crew->chunk);
    void (*task)(void *, int64_t, int64_t) = crew->task;
    void *data = crew->data;
    crew->next = end;
    pthread_mutex_unlock(&crew->lock);
    task(data, begin, end);
    pthread_mutex_lock(&crew->lock);
    crew->finished += end - begin;
    if (crew->finished == crew->count)
      pthread_cond_signal(&crew->done);
  }
}

void steep_host_crew_run(steep_crew *crew, int32_t threads, int64_t count,
                         void (*task)(void *data, int64_t begin, int64_t end),
                         void *data) {
  int64_t chunks = (int64_t)threads * 4;
  if (count <= 0)
    return;
  if (threads == 1 || count == 1) {
    task(data, 0, count);
    return;
  }
  pthread_mutex_lock(&crew->lock);
  crew->task = task;
  crew->data = data;
  crew->chunk = (count + chunks - 1) / chunks;
  crew->next = 0;
  crew->finished = 0;
  crew->count = count;
  pthread_cond_broadcast(&crew->wake);
  work(crew);
  while (crew->finished < crew->count)
    pthread_cond_wait(&crew->done, &crew->lock);
  crew->count = crew->next = crew->finished = 0;
  pthread_mutex_unlock(&crew->lock);
}

void steep_host_crew_join(steep_crew *crew) {
  pthread_mutex_lock(&crew->lock);
  while (!crew->stop) {
    work(crew);
    if (!crew->stop)
      pthread_cond_wait(&crew->wake, &crew->lock);
  }
  pthread_mutex_unlock(&crew->lock);
}

void steep_host_crew_dismiss(steep_crew *crew) {
  pthread_mutex_lock(&crew->lock);
  crew->stop = 1;
  pthread_cond_broadcast(&crew->wake);
  pthread_mutex_unlock(&crew->lock);
}

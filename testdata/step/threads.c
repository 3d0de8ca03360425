// Threads from clone to exit, with work, a mutex and thread-local storage.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread long local;
static long total;

NOINLINE long work(int n) { return n < 2 ? 1 : work(n - 1) + work(n - 2); }

static void cleanup(void *p) { local += *(int *)p; }

static void *body(void *arg) {
  char b[64];
  local = work(6);
  snprintf(b, sizeof b, "%ld", local);
  pthread_mutex_lock(&lock);
  total += atoi(b);
  pthread_mutex_unlock(&lock);
  int one = 1;
  pthread_cleanup_push(cleanup, &one);
  if (*(int *)arg & 1) pthread_exit(&total);
  pthread_cleanup_pop(1);
  return NULL;
}

int main(void) {
  for (int i = 0; i < 3; i++) {
    pthread_t t;
    pthread_create(&t, NULL, body, &i);
    pthread_join(t, NULL);
  }
  return total == 0;
}

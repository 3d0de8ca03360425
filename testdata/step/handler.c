// Ordinary work under a handler for SIGUSR1, which the tracer sends all the time.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
static volatile long sink, handled;

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

NOINLINE long leaf(long a) { return a * 5 + handled; }

static void handler(int sig) {
  handled += leaf(sig);
}

NOINLINE long deep(int n) {
  char b[40];
  memset(b, n, sizeof b);
  return n == 0 ? b[3] : deep(n - 1) + leaf(b[n & 31]);
}

int main(void) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = handler;
  a.sa_flags = SA_NODEFER;
  sigaction(SIGUSR1, &a, NULL);
  for (int round = 0; round < 20; round++) {
    char b[64];
    int v[16];
    for (int i = 0; i < 16; i++) v[i] = (i * 31 + round) % 17;
    qsort(v, 16, sizeof v[0], compare);
    sink += snprintf(b, sizeof b, "%d %s %g", round, "word", round * 1.5) + strlen(b) + deep(10) + v[3];
    free(malloc(100 << (round & 7)));
  }
  printf("%d\n", sink != 0);
  return 0;
}

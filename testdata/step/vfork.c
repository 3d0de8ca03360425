// A vfork child works in its parent's memory and ends.
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
static volatile long sink;

NOINLINE long work(int n) { return n < 2 ? 1 : work(n - 1) + work(n - 2); }

NOINLINE void spawn(void) {
  int status;
  pid_t child = vfork();
  if (child == 0) {
    sink += work(5);
    _exit(0);
  }
  sink += work(4);
  waitpid(child, &status, 0);
}

int main(void) {
  spawn();
  spawn();
  return 0;
}

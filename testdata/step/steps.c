// A little of all that ordinary C programs do with their stack.
#define _GNU_SOURCE
#include <alloca.h>
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifndef NO_DL
#include <dlfcn.h>
#endif

#define NOINLINE __attribute__((noinline, noclone))

static volatile long sink;

NOINLINE long leaf(long a, long b) { return a * 31 + b; }

NOINLINE long fact(int n) { return n < 2 ? 1 : n * fact(n - 1) + leaf(n, 1); }

NOINLINE long ack(long m, long n) { return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1)); }

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

NOINLINE void sorted(void) {
  int v[24];
  for (int i = 0; i < 24; i++) v[i] = (i * 7919) % 101;
  qsort(v, 24, sizeof v[0], compare);
  int key = v[7];
  sink += *(int *)bsearch(&key, v, 24, sizeof v[0], compare);
}

NOINLINE void strings(void) {
  char b[256], *save, *p;
  snprintf(b, sizeof b, "%s %d %5.3f %c %lx", "some words here", 42, 3.25, 'x', 0xabcdefL);
  for (p = strtok_r(b, " ", &save); p; p = strtok_r(NULL, " ", &save)) sink += strlen(p) + atoi(p);
  memset(b, 'q', 200);
  b[200] = 0;
  sink += strchr(b, 'z') != NULL;
  sink += strcasecmp(b, "QQQ") + toupper(b[3]) + strtol("-77", NULL, 10);
  char *d = strdup(b);
  memmove(d + 1, d, 100);
  sink += memcmp(b, d, 100) + (long)(strtod("2.5e3", NULL));
  free(d);
}

NOINLINE long stack_of(size_t n) {
  char *p = alloca(n);
  memset(p, 1, n);
  return p[n / 2] + leaf(n, 2);
}

NOINLINE long array_of(int n) {
  int a[n];
  for (int i = 0; i < n; i++) a[i] = leaf(i, n);
  return a[n - 1];
}

NOINLINE long aligned(long x) {
  _Alignas(64) char b[64];
  memset(b, (int)x, sizeof b);
  return b[x & 63] + leaf(x, 3);
}

NOINLINE long many(long a, long b, long c, long d, long e, long f, long g, long h, double i) {
  return a + b + c + d + e + f + g + h + (long)i + leaf(g, h);
}

NOINLINE int variadic(const char *fmt, ...) {
  char b[128];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(b, sizeof b, fmt, ap);
  va_end(ap);
  return n;
}

static long (*volatile indirect)(long, long) = leaf;

NOINLINE long tail(long a) { return indirect(a, 9); }

static jmp_buf env;

NOINLINE void thrower(int n) {
  if (n == 0) longjmp(env, 1);
  thrower(n - 1);
}

NOINLINE void jumps(void) {
  if (setjmp(env) == 0) thrower(4);
  sink++;
}

NOINLINE void heap(void) {
  void *p[16];
  for (int i = 0; i < 16; i++) p[i] = malloc(24 << (i % 12));
  for (int i = 0; i < 16; i++) p[i] = realloc(p[i], 5000);
  for (int i = 0; i < 16; i++) free(p[i]);
  void *big = calloc(1, 1 << 20);
  free(big);
}

NOINLINE void libs(void) {
#ifndef NO_DL
  double (*f)(double) = (double (*)(double))dlsym(RTLD_DEFAULT, "sqrt");
  void *h = dlopen("libm.so.6", RTLD_LAZY);
  if (h) f = (double (*)(double))dlsym(h, "cos");
  if (f) sink += (long)f(2.0);
  if (h) dlclose(h);
#endif
  char *t = getenv("HOME");
  sink += t ? t[0] : 0;
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  sink += ts.tv_sec + time(NULL) + getpid();
}

static void atend(void) { sink += leaf(1, 1); }

NOINLINE __attribute__((noreturn)) void last(int code) {
  fflush(stdout);
  exit(code);
}

NOINLINE void ending(int code) { last(code); }  // the call is the last instruction

int main(int argc, char **argv) {
  atexit(atend);
  printf("%s %d\n", "steps", argc);
  sink = fact(8) + ack(1, 3);
  sorted();
  strings();
  for (int i = 1; i < 4; i++) sink += stack_of(i * 100) + array_of(i * 5) + aligned(i);
  sink += many(1, 2, 3, 4, 5, 6, 7, 8, 9.5) + variadic("%d %s %f", 7, "seven", 7.7) + tail(5);
  jumps();
  heap();
  libs();
  puts("end");
  ending(argc > 100);
}

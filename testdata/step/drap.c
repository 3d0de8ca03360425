// Functions that realign their stack and use alloca: gcc keeps the way back in a register of its own.
#include <alloca.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
static volatile long sink;

NOINLINE long leaf(long a) { return a * 3 + 1; }

NOINLINE long inner(long n, long depth) {
  _Alignas(64) char b[128];
  char *p = alloca(n);
  memset(b, (int)n, sizeof b);
  memset(p, 2, n);
  long r = b[n & 127] + p[n / 2] + leaf(n);
  if (depth > 0) r += inner(n + 16, depth - 1);
  return r + leaf(depth);
}

NOINLINE long outer(long n, int early) {
  _Alignas(32) long v[8];
  for (int i = 0; i < 8; i++) v[i] = leaf(i);
  if (early) return v[early & 7];
  char *p = alloca(n * 8);
  p[0] = 1;
  return inner(n, 3) + v[n & 7] + p[0];
}

NOINLINE long args(long a, long b, long c, long d, long e, long f, long g, long h) {
  _Alignas(64) long v[16];
  v[g & 15] = h;
  char *p = alloca(a + 64);
  p[1] = (char)b;
  return outer(g, 0) + v[h & 15] + p[1] + c + d + e + f;
}

int main(void) {
  for (int i = 1; i < 6; i++) sink += outer(i * 20, 0) + outer(i, 1) + args(i, 2, 3, 4, 5, 6, i, 8);
  return 0;
}

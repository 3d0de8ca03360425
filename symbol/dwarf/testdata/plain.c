/* plain.c needs no library, so that it can be built for any machine. */
static inline __attribute__((always_inline)) int add(int a, int b) { return a + b; }
static inline __attribute__((always_inline)) int twice(int a) { return add(a, a); }
__attribute__((noinline)) int loop(int n) {
	int s = 0;
	for (int i = 0; i < n; i++) s += twice(i) ^ n;
	return s;
}
__attribute__((noinline)) int nested(int n) {
	int inner(int k) { return k * n + loop(k); }
	int (*volatile f)(int) = 0;
	if (n > 100) f = 0;
	return inner(n) + inner(n + 1) + (f ? 1 : 0);
}
void _start(void) { nested(loop(3)); for (;;); }

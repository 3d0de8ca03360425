// Calls the functions of asm.S, directly and through pointers.
#define NOINLINE __attribute__((noinline, noclone))
long asm_bare(long), asm_framed(long), asm_leaf(long), asm_tabled(long), asm_realigned(long), asm_switch(long);
static volatile long sink;

NOINLINE long work(long n) { return n < 2 ? 1 : work(n - 1) + work(n - 2); }
long callee(long n) { return work(n & 3) + asm_leaf(n); }

static long (*volatile functions[])(long) = {asm_bare, asm_framed, asm_leaf, asm_tabled, asm_realigned, asm_switch};

int main(void) {
  for (long i = 0; i < 5; i++) {
    sink += asm_bare(i) + asm_framed(i) + asm_leaf(i) + asm_tabled(i) + asm_realigned(i) + asm_switch(i);
    for (int f = 0; f < 6; f++) sink += functions[f](i);
  }
  return 0;
}

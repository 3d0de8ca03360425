// Two kinds of coroutines: those of ucontext, and a switch written by hand without CFI.
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))
static volatile long sink;

NOINLINE long work(int n) { return n < 2 ? 1 : work(n - 1) + work(n - 2); }

static ucontext_t main_context, co_context;

static void co_body(void) {
  for (int i = 0; i < 4; i++) {
    sink += work(4);
    swapcontext(&co_context, &main_context);
  }
}

NOINLINE void contexts(void) {
  getcontext(&co_context);
  co_context.uc_stack.ss_sp = malloc(65536);
  co_context.uc_stack.ss_size = 65536;
  co_context.uc_link = &main_context;
  makecontext(&co_context, co_body, 0);
  for (int i = 0; i < 5; i++) {
    swapcontext(&main_context, &co_context);
    sink += work(3);
  }
}

// switch_to(save, to): saves what the ABI asks for, and SP; takes up the other's.
void switch_to(void **save, void *to);
__asm__(".globl switch_to\n.type switch_to,@function\nswitch_to:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size switch_to,.-switch_to\n.section .note.GNU-stack,\"\",@progbits\n.text\n");

static void *mine, *theirs;

static void hand_body(void) {
  for (;;) {
    sink += work(4);
    switch_to(&theirs, mine);
  }
}

NOINLINE void by_hand(long garbage) {
  size_t size = 65536;
  char *stack = malloc(size);
  long *top = (long *)(stack + size - 16);
  *top = garbage;               // the return address of hand_body
  *--top = (long)hand_body;
  for (int i = 0; i < 6; i++) *--top = 0;
  theirs = top;
  for (int i = 0; i < 4; i++) {
    switch_to(&mine, theirs);
    sink += work(3);
  }
}

int main(void) {
  contexts();
  by_hand(0);
  by_hand(0x1234567);
  return 0;
}

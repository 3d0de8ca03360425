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
#ifdef __aarch64__
// x30 and where it goes on are two words: a function that is entered so has a caller that never called it.
__asm__(".globl switch_to\n.type switch_to,%function\nswitch_to:\n"
        "sub sp, sp, #112\nstp x19, x20, [sp]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\n"
        "stp x25, x26, [sp, #48]\nstp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\nstr x30, [sp, #96]\n"
        "mov x4, sp\nstr x4, [x0]\nmov sp, x1\n"
        "ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\n"
        "ldp x25, x26, [sp, #48]\nldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\nldr x4, [sp, #96]\n"
        "add sp, sp, #112\nret x4\n"
        ".size switch_to,.-switch_to\n.section .note.GNU-stack,\"\",@progbits\n.text\n");
#else
__asm__(".globl switch_to\n.type switch_to,@function\nswitch_to:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size switch_to,.-switch_to\n.section .note.GNU-stack,\"\",@progbits\n.text\n");
#endif

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
#ifdef __aarch64__
  top -= 2;
  *--top = 0; // to be a multiple of 16
  *--top = (long)hand_body;
  *--top = garbage; // the return address of hand_body
  for (int i = 0; i < 11; i++) *--top = 0;
#else
  *top = garbage;               // the return address of hand_body
  *--top = (long)hand_body;
  for (int i = 0; i < 6; i++) *--top = 0;
#endif
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

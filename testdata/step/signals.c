// Handlers in handlers, on the same stack and on another, and ways out of them.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
static volatile long sink;
static sigjmp_buf env;

NOINLINE long work(int n) { return n < 2 ? 1 : work(n - 1) + work(n - 2); }

static void innermost(int sig) { sink += work(3) + sig; }
static void nested(int sig) {
  sink += work(2);
  raise(SIGUSR2);
  sink += sig;
}
static void tail(int sig) { raise(SIGUSR2); }
static void with_info(int sig, siginfo_t *info, void *uc) { sink += work(4) + info->si_signo + (uc != NULL); }
static void jumping(int sig) { siglongjmp(env, sig); }
// Go back to where the null call was to return: its address is at SP, or in the link register.
static void back(int sig, siginfo_t *info, void *ptr) {
  ucontext_t *uc = ptr;
  sink += work(2);
#ifdef __aarch64__
  uc->uc_mcontext.pc = uc->uc_mcontext.regs[30];
#else
  uc->uc_mcontext.gregs[REG_RIP] = *(greg_t *)uc->uc_mcontext.gregs[REG_RSP];
  uc->uc_mcontext.gregs[REG_RSP] += 8;
#endif
}

static void install(int sig, void (*f)(int), int flags) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_handler = f;
  a.sa_flags = flags;
  sigaction(sig, &a, NULL);
}

NOINLINE void call(void (*f)(void)) {
  f();
  sink++;
}

NOINLINE void round_of(int flags) {
  install(SIGUSR1, nested, flags);
  install(SIGUSR2, innermost, flags);
  raise(SIGUSR1);
  kill(getpid(), SIGUSR1);
  install(SIGUSR1, tail, flags);
  raise(SIGUSR1);
  install(SIGUSR1, (void (*)(int))with_info, flags | SA_SIGINFO);
  raise(SIGUSR1);
  install(SIGSEGV, (void (*)(int))back, flags | SA_SIGINFO);
  call(NULL);
  install(SIGSEGV, jumping, flags);
  if (sigsetjmp(env, 1) == 0) call(NULL);
  if (sigsetjmp(env, 1) == 0) *(volatile int *)8 = 1;
  // Blocked, then let in.
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, &old);
  raise(SIGUSR1);
  sink += work(3);
  sigprocmask(SIG_SETMASK, &old, NULL);
}

int main(void) {
  round_of(0);
  round_of(SA_NODEFER);
  stack_t alt = {.ss_sp = malloc(65536), .ss_size = 65536};
  sigaltstack(&alt, NULL);
  round_of(SA_ONSTACK);
  return 0;
}

// Parts that package exact does not step: what stands between skip_begin and skip_end, in one
// function. Without a tracer both do nothing: the signal is SIGURG, which is ignored by default.
static inline long skip_call(long nr, long a, long b) {
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b) : "rcx", "r11", "memory");
  return r;
}
#define skip_begin() skip_call(39, 0x51e9, 0)                     /* getpid */
#define skip_end() skip_call(62, skip_call(39, 0, 0), 23)         /* kill, SIGURG */

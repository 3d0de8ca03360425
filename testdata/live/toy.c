/* toy: a runtime small enough for a test. It writes code when it starts, and interprets frames of its own. One thread
 * spins and one sleeps, both in the same place:
 *
 *   leaf <- code that switches stacks <- code with an aligned frame <- interpret <- work <- the thread's start
 *
 * where interpret stands for three interpreted frames: inner, middle, outer. What they consist of is on the first
 * stack of the thread.
 *
 * struct toy is what a debugger would look for; it is filled in before "R". */
#include "live.h"
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

struct function { char name[16]; };
struct frame { struct frame *caller; struct function *function; uint64_t position; };

/* One for each thread, at a fixed distance from its thread pointer; also the first word of its second stack. */
struct machine {
	uint64_t magic;
	struct frame *top;
	char *stack; /* the end of the second stack; the stack pointer that was left is kept below it */
};
static __thread struct machine machine;

#define MAGIC 0x796f745f656e6f00
#define STACK (64 << 10)

struct toy {
	uint64_t magic;
	int64_t machine;              /* from the thread pointer */
	uint64_t code, size;          /* what was written */
	uint64_t aligned, switched;   /* its functions */
	uint64_t interpret, interpreted; /* the interpreter's code */
};
__attribute__((section(".toy"))) volatile struct toy toy = {.magic = 1};

typedef void leaf(void *);
typedef void aligned_code(leaf *, void *, char *);

static volatile uint64_t turns;
static int never[2];
static pid_t sleeper;

NOINLINE static void leaf_spin(void *none) {
	for (;;)
		turns++;
	(void)none;
}

NOINLINE static void leaf_sleep(void *none) {
	char c;
	sleeper = live_tid();
	while (read(never[0], &c, 1) < 0)
		turns++;
	(void)none;
}

/* push rbx; mov rbx,rsp; and rsp,-256; mov rax,imm64; call rax; mov rsp,rbx; pop rbx; ret */
static const unsigned char aligned[] = {0x53, 0x48, 0x89, 0xe3, 0x48, 0x81, 0xe4, 0, 0xff, 0xff, 0xff,
	0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x48, 0x89, 0xdc, 0x5b, 0xc3};
/* push rbp; mov [rdx-8],rsp; lea rsp,[rdx-16]; xor ebp,ebp; mov rax,rdi; mov rdi,rsi; call rax; mov rsp,[rsp+8];
 * pop rbp; ret */
static const unsigned char switched[] = {0x55, 0x48, 0x89, 0x62, 0xf8, 0x48, 0x8d, 0x62, 0xf0, 0x31, 0xed,
	0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x48, 0x8b, 0x64, 0x24, 0x08, 0x5d, 0xc3};

__attribute__((section("interpreter"), noinline)) static void interpret(leaf *f, void *arg) {
	((aligned_code *)toy.aligned)(f, arg, machine.stack);
	turns++; /* no tail call */
}
extern char __start_interpreter[], __stop_interpreter[];

NOINLINE static void *work(void *f) {
	struct function functions[] = {{"outer"}, {"middle"}, {"inner"}};
	struct frame frames[3] = {{NULL, &functions[0], 1}, {&frames[0], &functions[1], 2}, {&frames[1], &functions[2], 3}};
	char *block = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		live_die("mmap");
	block = (char *)(((uintptr_t)block + STACK - 1) & ~(uintptr_t)(STACK - 1));
	machine = (struct machine){MAGIC, &frames[2], block + STACK};
	*(struct machine **)block = &machine;
	interpret((leaf *)f, frames);
	turns++;
	return NULL;
}

static void write_code(void) {
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		live_die("mmap");
	uint64_t to = (uint64_t)(code + 256);
	memcpy(code, aligned, sizeof aligned);
	memcpy(code + 13, &to, sizeof to);
	memcpy(code + 256, switched, sizeof switched);
	toy.code = (uint64_t)code, toy.size = 4096;
	toy.aligned = (uint64_t)code, toy.switched = to;
	toy.machine = (int64_t)((char *)&machine - (char *)__builtin_thread_pointer());
	toy.interpret = (uint64_t)__start_interpreter, toy.interpreted = (uint64_t)__stop_interpreter;
	toy.magic = MAGIC;
}

int main(void) {
	pthread_t t;
	live_begin();
	write_code();
	if (pipe(never) != 0)
		live_die("pipe");
	if ((errno = pthread_create(&t, NULL, work, (void *)leaf_spin)) != 0 ||
		(errno = pthread_create(&t, NULL, work, (void *)leaf_sleep)) != 0)
		live_die("pthread_create");
	while (!*(volatile pid_t *)&sleeper || turns == 0) /* a busy machine may start the other thread late */
		live_sleep_us(500);
	live_await_sleep(sleeper);
	live_ready();
	live_forever();
}

/* duty SECONDS THREADS CLOCK SHARE... [sleep MS]: each thread spends its time in work_a,
 * work_b and work_c by the shares (percent of a cycle of 10 ms), measured by CLOCK, "wall"
 * or "cpu"; with sleep it sleeps MS after each cycle.
 *
 * Truth: on its last lines it prints, for each function and for "sleep", the seconds of
 * wall time and of CPU time that its threads spent in it, as they measured it. */
#include "live.h"
#include <pthread.h>

enum { WORKS = 3, CYCLE_NS = 10000000 };
static long share[WORKS], sleep_ms;
static clockid_t pace = CLOCK_MONOTONIC;
static long long ends; /* CLOCK_MONOTONIC */
static volatile unsigned long sink;

struct spent {
	long long wall[WORKS + 1], cpu[WORKS + 1];
};

static inline long long now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* grind computes for some ten microseconds, inline in each of its callers. */
static inline __attribute__((always_inline)) void grind(void) {
	unsigned long v = sink;
	for (int i = 0; i < 10000; i++)
		v = v * 6364136223846793005UL + 1442695040888963407UL;
	sink = v;
}

#define WORK(name)                                                                     \
	NOINLINE static void name(long long until) {                                   \
		do                                                                     \
			grind();                                                       \
		while (now(pace) < until);                                             \
		__asm__ volatile("" ::: "memory"); /* no two of them become one */     \
		sink += sizeof #name;                                                  \
	}
WORK(work_a)
WORK(work_b_)
WORK(work_c__)
static void (*const work[WORKS])(long long) = {work_a, work_b_, work_c__};
static const char *const names[] = {"work_a", "work_b_", "work_c__", "sleep"};

static void add(struct spent *s, int k, long long *wall, long long *cpu) {
	long long w = now(CLOCK_MONOTONIC), c = now(CLOCK_THREAD_CPUTIME_ID);
	s->wall[k] += w - *wall;
	s->cpu[k] += c - *cpu;
	*wall = now(CLOCK_MONOTONIC); /* what add takes is nobody's */
	*cpu = now(CLOCK_THREAD_CPUTIME_ID);
}

static void *run(void *arg) {
	struct spent *s = arg;
	long long wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
	while (wall < ends) {
		for (int k = 0; k < WORKS; k++) {
			if (share[k] == 0)
				continue;
			work[k](now(pace) + share[k] * (CYCLE_NS / 100));
			add(s, k, &wall, &cpu);
		}
		if (sleep_ms > 0) {
			live_sleep_us(sleep_ms * 1000);
			add(s, WORKS, &wall, &cpu);
		}
	}
	return NULL;
}

int main(int argc, char **argv) {
	long seconds = live_number(argc, argv, 1, 5), threads = live_number(argc, argv, 2, 1);
	if (argc > 3 && strcmp(argv[3], "cpu") == 0)
		pace = CLOCK_THREAD_CPUTIME_ID;
	for (int i = 4, k = 0; i < argc; i++) {
		if (strcmp(argv[i], "sleep") == 0)
			sleep_ms = live_number(argc, argv, ++i, 0);
		else if (k < WORKS)
			share[k++] = strtol(argv[i], NULL, 10);
	}
	live_begin();
	ends = now(CLOCK_MONOTONIC) + seconds * 1000000000LL;
	struct spent *spent = calloc((size_t)threads, sizeof *spent);
	pthread_t *t = calloc((size_t)threads, sizeof *t);
	if (spent == NULL || t == NULL)
		live_die("calloc");
	live_ready();
	for (long i = 0; i < threads; i++)
		if ((errno = pthread_create(&t[i], NULL, run, &spent[i])) != 0)
			live_die("pthread_create");
	for (long i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	for (int k = 0; k <= WORKS; k++) {
		char line[128];
		long long wall = 0, cpu = 0;
		for (long i = 0; i < threads; i++) {
			wall += spent[i].wall[k];
			cpu += spent[i].cpu[k];
		}
		snprintf(line, sizeof line, "%s %.6f %.6f\n", names[k], wall / 1e9, cpu / 1e9);
		live_say(line);
	}
	return 0;
}

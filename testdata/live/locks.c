/* locks: threads that wait for each other, or for what never comes. The first argument says how.
 *
 * Truth: each scenario writes "R\n" when all of its threads are where they stay, and before that a line for each
 * thread that the test asks for: "NAME TID", and for each object "NAME ADDRESS". */
#include "live.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define THREADS 1100

static pthread_mutex_t lock[4];
static pthread_barrier_t met;
static pthread_t thread[THREADS];
static _Atomic pid_t id[THREADS];
static pthread_rwlock_t rw;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static int kind = -1; /* of mutexes: a PTHREAD_MUTEX_ constant, -1 default */
static int robust, inherit, shared, timed;

static void must(int error, const char *what) {
	if (error != 0) {
		errno = error;
		live_die(what);
	}
}

static void say(const char *name, uintmax_t value, int hex) {
	char line[80];
	snprintf(line, sizeof line, hex ? "%s 0x%jx\n" : "%s %ju\n", name, value);
	live_say(line);
}

static void say_thread(const char *name, int i) { say(name, (uintmax_t)id[i], 0); }
static void say_object(const char *name, const void *o) { say(name, (uintptr_t)o, 1); }

static void make_mutex(pthread_mutex_t *m) {
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	if (kind >= 0)
		must(pthread_mutexattr_settype(&a, kind), "settype");
	if (robust)
		must(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST), "setrobust");
	if (inherit)
		must(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT), "setprotocol");
	if (shared)
		must(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED), "setpshared");
	must(pthread_mutex_init(m, &a), "mutex_init");
}

struct pair { int self; pthread_mutex_t *first, *second; int late; };

/* take_both takes one lock, meets the others, and wants the next. */
static void *take_both(void *argument) {
	struct pair *p = argument;
	id[p->self] = live_tid();
	pthread_mutex_lock(p->first);
	pthread_barrier_wait(&met);
	live_sleep_us(20000 * p->late); /* so that a kernel that refuses a cycle refuses the last */
	if (timed && p->self == 1) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 100;
		pthread_mutex_timedlock(p->second, &until);
	} else {
		pthread_mutex_lock(p->second);
	}
	live_forever();
	return NULL;
}

static void start(int i, void *(*f)(void *), void *argument) {
	must(pthread_create(&thread[i], NULL, f, argument), "pthread_create");
}

/* settle waits until n threads sleep, and some time more: a thread may sleep on its way. */
static void settle(int from, int n) {
	for (int i = from; i < from + n; i++) {
		while (id[i] == 0)
			live_sleep_us(500);
		live_await_sleep(id[i]);
	}
	live_sleep_us(100000);
	for (int i = from; i < from + n; i++)
		live_await_sleep(id[i]);
}

/* ring: n threads, each with a lock, and the next one's is wanted. */
static struct pair pairs[4];
static void ring(int n) {
	pthread_barrier_init(&met, NULL, (unsigned)n);
	for (int i = 0; i < n; i++)
		make_mutex(&lock[i]);
	for (int i = 0; i < n; i++) {
		pairs[i] = (struct pair){i, &lock[i], &lock[(i + 1) % n], i};
		start(i, take_both, &pairs[i]);
	}
	settle(0, n);
	for (int i = 0; i < n; i++) {
		char name[] = {'t', (char)('0' + i), 0}, object[] = {'m', (char)('0' + i), 0};
		say_thread(name, i);
		say_object(object, &lock[i]);
	}
}

static void *wants(void *argument) {
	id[3] = live_tid();
	pthread_mutex_lock(argument);
	live_forever();
	return NULL;
}

static void *twice(void *unused) {
	(void)unused;
	id[0] = live_tid();
	pthread_mutex_lock(&lock[0]);
	pthread_mutex_lock(&lock[0]);
	return NULL;
}

static void *takes_and_ends(void *unused) {
	(void)unused;
	id[1] = live_tid();
	pthread_mutex_lock(&lock[0]);
	return NULL;
}

static void *takes(void *unused) {
	(void)unused;
	id[0] = live_tid();
	pthread_mutex_lock(&lock[0]);
	live_forever();
	return NULL;
}

static void *reads(void *unused) {
	(void)unused;
	id[1] = live_tid();
	pthread_rwlock_rdlock(&rw);
	live_forever();
	return NULL;
}

static void *writes(void *unused) {
	(void)unused;
	id[0] = live_tid();
	pthread_rwlock_wrlock(&rw);
	live_forever();
	return NULL;
}

static void *upgrades(void *argument) {
	intptr_t i = (intptr_t)argument;
	id[i] = live_tid();
	pthread_rwlock_rdlock(&rw);
	pthread_barrier_wait(&met);
	pthread_rwlock_wrlock(&rw);
	return NULL;
}

static void *upgrades_too(void *argument) {
	id[(intptr_t)argument] = live_tid();
	pthread_rwlock_wrlock(&rw);
	pthread_mutex_lock(&lock[0]);
	live_forever();
	return NULL;
}

static void *waits(void *argument) {
	id[(intptr_t)argument] = live_tid();
	pthread_mutex_lock(&lock[0]);
	pthread_cond_wait(&cond, &lock[0]);
	live_forever();
	return NULL;
}

static void *sems(void *unused) {
	(void)unused;
	id[0] = live_tid();
	sem_wait(&sem);
	return NULL;
}

static void *meets(void *unused) {
	(void)unused;
	id[0] = live_tid();
	pthread_barrier_wait(&met);
	return NULL;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void runs_long(void) { live_forever(); }
static void *onces(void *argument) {
	id[(intptr_t)argument] = live_tid();
	pthread_once(&once, runs_long);
	return NULL;
}

static void *joins(void *unused) {
	(void)unused;
	id[0] = live_tid();
	pthread_mutex_lock(&lock[0]);
	start(1, takes_and_ends, NULL);
	pthread_join(thread[1], NULL);
	return NULL;
}

static void *keeps_file(void *unused) {
	(void)unused;
	id[0] = live_tid();
	flockfile(stderr);
	live_forever();
	return NULL;
}

static void *writes_file(void *unused) {
	(void)unused;
	id[1] = live_tid();
	fputs("never seen", stderr);
	return NULL;
}

static void in_handler(int signal) {
	(void)signal;
	live_forever();
}

/* child_sleeps waits until process child sleeps for good. */
static void child_sleeps(pid_t child) {
	char path[64], text[512];
	for (int calm = 0; calm < 100; live_sleep_us(1000)) {
		snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, text, sizeof text - 1);
		close(fd);
		text[n > 0 ? n : 0] = 0;
		char *end = strrchr(text, ')');
		calm = end != NULL && end[2] == 'S' ? calm + 1 : 0;
	}
}

/* a handler that sleeps above a lock wait */
static void *interrupted(void *unused) {
	(void)unused;
	id[1] = live_tid();
	pthread_mutex_lock(&lock[1]);
	pthread_mutex_lock(&lock[0]);
	return NULL;
}

/* a handler that takes the lock of malloc, again and again, until it interrupts malloc */
static void allocates(int signal) {
	(void)signal;
	void *volatile p = malloc(100000);
	free(p);
}

static void *allocates_too(void *unused) {
	(void)unused;
	id[0] = live_tid();
	for (;;) {
		void *volatile all[64];
		for (int i = 0; i < 64; i++)
			all[i] = malloc(2000 + (size_t)i * 1000);
		for (int i = 0; i < 64; i++)
			free(all[i]);
	}
	return NULL;
}

static void two_processes(void) {
	int file = memfd_create("locks", 0);
	if (file < 0 || ftruncate(file, 8192) != 0)
		live_die("memfd");
	pthread_mutex_t *a = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 4096);
	_Atomic int *step = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	shared = 1;
	make_mutex(&a[0]);
	make_mutex(&a[1]);
	pid_t child = fork();
	pthread_mutex_t *mine = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 4096); /* elsewhere */
	int i = child == 0;
	if (i)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_mutex_lock(&mine[i]);
	(*step)++;
	while (*step != 2)
		live_sleep_us(1000);
	if (i) {
		pthread_mutex_lock(&mine[0]);
		live_forever();
	}
	child_sleeps(child);
	say("child", (uintmax_t)child, 0);
	live_ready();
	pthread_mutex_lock(&mine[1]);
	live_forever();
}

static void forked(void) {
	make_mutex(&lock[0]);
	start(0, takes, NULL);
	settle(0, 1);
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_mutex_lock(&lock[0]);
		live_forever();
	}
	child_sleeps(child);
	say("child", (uintmax_t)child, 0);
	say_thread("t0", 0);
}

/* Objects of a program on the stack of the thread that waits at them. */
static void *sems_on_stack(void *unused) {
	(void)unused;
	sem_t here;
	sem_init(&here, 0, 0);
	pthread_mutex_lock(&lock[0]);
	id[0] = live_tid();
	sem_wait(&here);
	return NULL;
}
static void *waits_on_stack(void *unused) {
	(void)unused;
	pthread_cond_t here = PTHREAD_COND_INITIALIZER;
	pthread_mutex_lock(&lock[0]);
	id[0] = live_tid();
	pthread_cond_wait(&here, &lock[0]);
	return NULL;
}

/* spins: a thread spins for what one that sleeps has. */
static pthread_spinlock_t spin_lock;
static void *has_spin(void *unused) {
	(void)unused;
	pthread_spin_lock(&spin_lock);
	id[0] = live_tid();
	live_forever();
	return NULL;
}
static void *wants_spin(void *unused) {
	(void)unused;
	id[1] = live_tid();
	pthread_spin_lock(&spin_lock);
	return NULL;
}
static void spins(void) {
	pthread_spin_init(&spin_lock, PTHREAD_PROCESS_PRIVATE);
	start(0, has_spin, NULL);
	settle(0, 1);
	start(1, wants_spin, NULL);
	while (id[1] == 0)
		live_sleep_us(500);
	say_thread("t0", 0);
	say_thread("t1", 1);
}

/* busy takes locks in one order, as fast as it can. */
static void *busy(void *argument) {
	unsigned seed = (unsigned)(uintptr_t)argument;
	for (;;) {
		int a = (int)(seed = seed * 1103515245 + 12345) >> 16 & 1, b = a + 1 + (int)(seed >> 20 & 1);
		pthread_mutex_lock(&lock[a]);
		pthread_mutex_lock(&lock[b]);
		if ((seed >> 24 & 15) == 0)
			sched_yield();
		pthread_mutex_unlock(&lock[b]);
		pthread_mutex_unlock(&lock[a]);
	}
	return NULL;
}

static void many(int n) {
	make_mutex(&lock[0]);
	start(0, takes, NULL);
	settle(0, 1);
	for (int i = 4; i < 4 + n; i++) {
		pthread_attr_t a;
		pthread_attr_init(&a);
		pthread_attr_setstacksize(&a, 64 << 10);
		must(pthread_create(&thread[i], &a, wants, &lock[0]), "pthread_create");
	}
	live_sleep_us(300000);
	say_thread("t0", 0);
	say_object("m0", &lock[0]);
}

static void cond_held(void) {
	start(0, waits, (void *)0);
	settle(0, 1);
	start(1, waits, (void *)1);
	start(2, waits, (void *)2);
	settle(1, 2);
	pthread_mutex_lock(&lock[0]);
	pthread_cond_broadcast(&cond);
	live_sleep_us(100000);
}

static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }

static void mutex_kind(const char *how) {
	if (strstr(how, "recursive"))
		kind = PTHREAD_MUTEX_RECURSIVE;
	if (strstr(how, "errorcheck"))
		kind = PTHREAD_MUTEX_ERRORCHECK;
#ifdef __GLIBC__
	if (strstr(how, "adaptive"))
		kind = PTHREAD_MUTEX_ADAPTIVE_NP;
#endif
	robust = strstr(how, "robust") != NULL;
	inherit = strstr(how, "inherit") != NULL;
	shared = strstr(how, "shared") != NULL;
	timed = strstr(how, "timed") != NULL;
}

int main(int argc, char **argv) {
	const char *how = argc > 1 ? argv[1] : "abba";
	live_begin();
	pthread_rwlockattr_t attr;
	pthread_rwlockattr_init(&attr);
	pthread_rwlock_init(&rw, &attr);
	mutex_kind(how);
	if (strncmp(how, "abba", 4) == 0) {
		ring(2);
	} else if (is(how, "ring")) {
		ring(3);
		start(3, wants, &lock[1]);
		settle(3, 1);
		say_thread("t3", 3);
	} else if (strncmp(how, "self", 4) == 0) {
		make_mutex(&lock[0]);
		start(0, twice, NULL);
		settle(0, 1);
		say_thread("t0", 0);
		say_object("m0", &lock[0]);
	} else if (strncmp(how, "exited", 6) == 0) {
		make_mutex(&lock[0]);
		start(1, takes_and_ends, NULL);
		pthread_join(thread[1], NULL);
		start(3, wants, &lock[0]);
		settle(3, 1);
		say_thread("t1", 1);
		say_thread("t3", 3);
	} else if (is(how, "two-processes")) {
		two_processes();
	} else if (is(how, "two-processes-robust")) {
		robust = 1;
		two_processes();
	} else if (is(how, "forked")) {
		forked();
	} else if (is(how, "upgrade")) {
		pthread_barrier_init(&met, NULL, 2);
		start(0, upgrades, (void *)0);
		start(1, upgrades, (void *)1);
		settle(0, 2);
		live_ready();
		pthread_join(thread[0], NULL);
	} else if (is(how, "reader")) {
		start(1, reads, NULL);
		settle(1, 1);
		start(0, writes, NULL);
		settle(0, 1);
		say_thread("t0", 0);
		say_object("rw", &rw);
	} else if (is(how, "writer")) {
		start(0, writes, NULL);
		settle(0, 1);
		start(1, reads, NULL);
		settle(1, 1);
		say_thread("t0", 0);
		say_thread("t1", 1);
		say_object("rw", &rw);
	} else if (is(how, "writers")) { /* one has the rwlock and wants a mutex, the other the other way round */
		make_mutex(&lock[0]);
		start(0, takes, NULL);
		settle(0, 1);
		start(1, upgrades_too, (void *)1);
		settle(1, 1);
		start(2, upgrades_too, (void *)2);
		settle(2, 1);
		say_thread("t0", 0);
		say_thread("t1", 1);
		say_thread("t2", 2);
		say_object("m0", &lock[0]);
		say_object("rw", &rw);
	} else if (is(how, "cond")) {
		make_mutex(&lock[0]);
		start(0, waits, (void *)0);
		settle(0, 1);
		say_thread("t0", 0);
		say_object("cond", &cond);
		say_object("m0", &lock[0]);
	} else if (is(how, "cond-held")) {
		make_mutex(&lock[0]);
		cond_held();
		say("t3", (uintmax_t)live_tid(), 0);
		say_object("m0", &lock[0]);
	} else if (is(how, "cond-moved")) { /* the first takes the mutex and keeps it */
		make_mutex(&lock[0]);
		for (intptr_t i = 0; i < 3; i++) {
			start((int)i, waits, (void *)i);
			settle((int)i, 1);
		}
		pthread_mutex_lock(&lock[0]);
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&lock[0]);
		live_sleep_us(100000);
		say_thread("t0", 0);
		say_thread("t1", 1);
		say_object("m0", &lock[0]);
	} else if (is(how, "cond-stuck")) {
		make_mutex(&lock[0]);
		start(0, waits, (void *)0);
		settle(0, 1);
		say_thread("t0", 0);
		live_ready();
		pthread_join(thread[0], NULL);
	} else if (is(how, "sem")) {
		sem_init(&sem, 0, 0);
		start(0, sems, NULL);
		settle(0, 1);
		say_object("sem", &sem);
	} else if (is(how, "stack-sem")) { /* beside a priority-inheritance mutex that it has */
		inherit = 1;
		make_mutex(&lock[0]);
		start(0, sems_on_stack, NULL);
		settle(0, 1);
		say_thread("t0", 0);
	} else if (is(how, "stack-cond")) {
		inherit = 1;
		make_mutex(&lock[0]);
		start(0, waits_on_stack, NULL);
		settle(0, 1);
		pthread_mutex_lock(&lock[0]);
		say_thread("t0", 0);
		say_object("m0", &lock[0]);
	} else if (is(how, "spin")) {
		spins();
	} else if (is(how, "barrier")) {
		pthread_barrier_init(&met, NULL, 3);
		start(0, meets, NULL);
		settle(0, 1);
		say_object("barrier", &met);
	} else if (is(how, "once")) {
		start(0, onces, (void *)0);
		settle(0, 1);
		start(1, onces, (void *)1);
		settle(1, 1);
		say_thread("t0", 0);
		say_thread("t1", 1);
	} else if (is(how, "join")) {
		make_mutex(&lock[0]);
		start(0, joins, NULL);
		settle(0, 2);
		say_thread("t0", 0);
		say_thread("t1", 1);
		say_object("m0", &lock[0]);
	} else if (is(how, "stdio")) {
		start(0, keeps_file, NULL);
		settle(0, 1);
		start(1, writes_file, NULL);
		settle(1, 1);
		say_thread("t0", 0);
		say_thread("t1", 1);
	} else if (is(how, "handler")) {
		make_mutex(&lock[0]);
		make_mutex(&lock[1]);
		signal(SIGUSR1, in_handler);
		start(0, takes, NULL);
		settle(0, 1);
		start(1, interrupted, NULL);
		settle(1, 1);
		start(3, wants, &lock[1]);
		settle(3, 1);
		pthread_kill(thread[1], SIGUSR1);
		live_sleep_us(100000);
		say_thread("t0", 0);
		say_thread("t1", 1);
		say_thread("t3", 3);
		say_object("m0", &lock[0]);
	} else if (is(how, "malloc")) {
		signal(SIGUSR1, allocates);
		start(0, allocates_too, NULL);
		while (id[0] == 0)
			live_sleep_us(500);
		for (int calm = 0; calm < 50; calm = live_state(id[0]) == 'S' ? calm + 1 : 0) {
			pthread_kill(thread[0], SIGUSR1);
			live_sleep_us(500);
		}
		say_thread("t0", 0);
	} else if (is(how, "busy")) {
		for (int i = 0; i < 4; i++)
			make_mutex(&lock[i]);
		for (int i = 0; i < 6; i++)
			start(i, busy, (void *)(uintptr_t)(i + 1));
	} else if (is(how, "many")) {
		many((int)live_number(argc, argv, 2, 500));
	} else {
		live_die(how);
	}
	live_ready();
	live_forever();
	return 0;
}

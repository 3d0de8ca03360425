/* mixed [THREADS]: a tree of processes that do all that a tracer may disturb, each of them over and over, and count
 * what they did and what came of it.
 *
 *   signals      a numbered real-time signal to a partner, and SIGUSR1 one by one: each comes once, in order, as sent
 *   forks        a child that ends: its status comes once, with one SIGCHLD
 *   vforks       a child by vfork that executes this program
 *   execs        a process that executes itself, from its first thread and from another
 *   stops        SIGSTOP and SIGTSTP to a child, which stands until SIGCONT; its parent hears of both once
 *   traces       a child that asks to be traced, and one that its parent seizes: their stops are those that they make
 *   kills        a child with threads that is killed at any moment
 *   credentials  a child that gives its rights away and takes them back, and is not dumpable
 *   filters      a child with a seccomp filter, and one in strict mode
 *   sleeps       THREADS that sleep: never too short, never EINTR
 *
 * SIGTERM to the first process ends all when what was begun has come to its end. It prints one line, ok or bad, then
 * name=number; all after "faults" must be 0. What is wrong is said on standard error, too. "refused" are attempts to
 * trace a process that somebody else traced at that moment (EPERM); they were made again. */
#include "../../../testdata/live/live.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define PATIENCE_US 20000000L
#define OUTSTANDING 8
#define NUMBERED (SIGRTMIN + 1)
#define NOBODY 65534

enum role { SIGNALS, FORKS, VFORKS, EXECS, STOPS, TRACES, KILLS, CREDENTIALS, FILTERS, SLEEPS, ROLES };
static const char *const names[ROLES] = {"signals", "forks", "vforks", "execs", "stops", "traces", "kills",
	"credentials", "filters", "sleeps"};

/* What all processes share; it lasts through exec. */
static struct book {
	int over, ready;
	long done[ROLES], faults[ROLES];
	long sent, received;          /* real-time signals */
	long asked, answered;         /* SIGUSR1 */
	long continued, spins;        /* of the child of stops */
	long refused, stuck, strange; /* strange: signals that nobody sent */
} *book;
static int book_file;
static enum role me;
static const char *self;
static int last; /* this turn ends what is kept between turns */

static void count(long *n) { __atomic_add_fetch(n, 1, __ATOMIC_SEQ_CST); }
static long seen(long *n) { return __atomic_load_n(n, __ATOMIC_SEQ_CST); }
static int over(void) { return __atomic_load_n(&book->over, __ATOMIC_SEQ_CST); }

static long now_us(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

static void fault(const char *what, long number) {
	count(&book->faults[me]);
	dprintf(2, "mixed: %s: %s %ld (errno %s)\n", names[me], what, number, strerror(errno));
}

/* expect is a fault unless got is want. */
static void expect(const char *what, long got, long want) {
	if (got != want)
		fault(what, got);
}

/* late reports whether a wait that has begun then has lasted too long. Of one that has lasted for a quarter of that it
   says so, once, to a test that reads it: it looks at what holds it. */
static int late(long begun, int *said, const char *what) {
	long waited = now_us() - begun;
	if (waited > PATIENCE_US / 4 && !*said && __atomic_load_n(&book->ready, __ATOMIC_SEQ_CST)) {
		*said = 1;
		dprintf(1, "stalled %d %s: %s\n", getpid(), names[me], what);
	}
	return waited > PATIENCE_US;
}

/* reached waits until *n is at least want. */
static void reached(const char *what, long *n, long want) {
	int said = 0;
	for (long begun = now_us(); seen(n) < want; live_sleep_us(200))
		if (late(begun, &said, what)) {
			fault(what, want - seen(n));
			return;
		}
}

/* ended takes the end of a child, which must be status, and come once. */
static void ended(const char *what, pid_t child, int want) {
	int status = 0;
	expect("waitpid", waitpid(child, &status, 0), child);
	expect(what, status, want);
	expect("a second end", waitpid(child, &status, WNOHANG), -1);
}

static int exited(int status) { return (status & 0xff) << 8; }

static pid_t child(void) {
	pid_t pid = fork();
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	else if (pid < 0)
		live_die("fork");
	return pid;
}

static void on_strange(int sig) {
	(void)sig;
	count(&book->strange);
}

static void handle(int sig, void (*handler)(int, siginfo_t *, void *)) {
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART, .sa_sigaction = handler};
	sigaction(sig, &action, NULL);
}

static void on_numbered(int sig, siginfo_t *info, void *context) {
	(void)sig, (void)context;
	if (info->si_code != SI_QUEUE || info->si_pid != getppid())
		count(&book->strange);
	long number = info->si_value.sival_int;
	expect("number of a signal", number, seen(&book->received) + 1);
	__atomic_store_n(&book->received, number, __ATOMIC_SEQ_CST);
}

static void on_asked(int sig, siginfo_t *info, void *context) {
	(void)sig, (void)context;
	if (info->si_code != SI_USER || info->si_pid != getppid())
		count(&book->strange);
	count(&book->answered);
}

static void signals(void) {
	static pid_t partner;
	if (partner == 0 && (partner = child()) == 0) {
		handle(NUMBERED, on_numbered);
		handle(SIGUSR1, on_asked);
		for (long i = 0;; i++)
			if (i % 100000 == 0)
				live_sleep_us(1000); /* asleep or running: a signal reaches the two by different ways */
	}
	if (seen(&book->done[SIGNALS]) == 0)
		live_sleep_us(100000); /* its handlers are there */
	union sigval value = {.sival_int = (int)seen(&book->sent) + 1};
	reached("numbered signals lost", &book->received, seen(&book->sent) - OUTSTANDING);
	if (sigqueue(partner, NUMBERED, value) == 0)
		count(&book->sent);
	count(&book->asked);
	kill(partner, SIGUSR1);
	reached("SIGUSR1 lost", &book->answered, seen(&book->asked));
	if (last) {
		reached("numbered signals lost", &book->received, seen(&book->sent));
		kill(partner, SIGKILL);
		ended("partner", partner, SIGKILL);
	}
}

static long children_heard;

static void on_child(int sig, siginfo_t *info, void *context) {
	(void)sig, (void)info, (void)context;
	count(&children_heard);
}

static void forks(void) {
	static long made;
	handle(SIGCHLD, on_child);
	int status = (int)(++made & 0x7f);
	pid_t pid = child();
	if (pid == 0)
		_exit(status);
	reached("SIGCHLD lost", &children_heard, made);
	ended("child", pid, exited(status));
	expect("SIGCHLD", seen(&children_heard), made);
}

static void vforks(void) {
	static int made;
	char number[16];
	snprintf(number, sizeof number, "%d", ++made & 0x7f);
	pid_t pid = vfork();
	if (pid == 0) {
		execl(self, self, "leaf", number, (char *)NULL);
		_exit(99);
	}
	ended("child", pid, exited(made & 0x7f));
}

static void execute(long n) {
	char file[16], number[16];
	snprintf(file, sizeof file, "%d", book_file);
	snprintf(number, sizeof number, "%ld", n);
	execl(self, self, "again", file, number, (char *)NULL);
	live_die("execl");
}

static void *execute_here(void *n) {
	execute((long)n);
	return NULL;
}

/* again is one life of the process that executes itself. */
static int again(long n) {
	pthread_t thread;
	me = EXECS;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a thread that executes has none */
	expect("lives", seen(&book->done[EXECS]), n);
	count(&book->done[EXECS]);
	live_sleep_us(15000);
	if (over())
		return 0;
	if (n % 3 == 0 && pthread_create(&thread, NULL, execute_here, (void *)(n + 1)) == 0)
		live_forever();
	execute(n + 1);
	return 3;
}

static void on_continued(int sig) {
	(void)sig;
	count(&book->continued);
}

static void stops(void) {
	static pid_t standing;
	static long made;
	int status, stop = ++made % 2 ? SIGSTOP : SIGTSTP;
	if (standing == 0 && (standing = child()) == 0) {
		signal(SIGTSTP, SIG_DFL);
		signal(SIGCONT, on_continued);
		for (;;) {
			count(&book->spins);
			live_sleep_us(500);
		}
	}
	if (made == 1) {
		setpgid(standing, standing); /* where its parent is in another group, SIGTSTP stops it */
		reached("begins", &book->spins, 1);
	}
	kill(standing, stop);
	expect("waitpid of a stop", waitpid(standing, &status, WUNTRACED), standing);
	expect("stop", status, stop << 8 | 0x7f);
	long stood = seen(&book->spins);
	live_sleep_us(3000);
	expect("steps while stopped", seen(&book->spins) - stood, 0);
	expect("another stop", waitpid(standing, &status, WUNTRACED | WNOHANG), 0);
	kill(standing, SIGCONT);
	expect("waitpid of SIGCONT", waitpid(standing, &status, WCONTINUED), standing);
	expect("SIGCONT", status, 0xffff);
	reached("steps after SIGCONT", &book->spins, stood + 1);
	reached("SIGCONT lost", &book->continued, made);
	expect("SIGCONT handled", seen(&book->continued), made);
	if (last) {
		kill(standing, SIGKILL);
		ended("child", standing, SIGKILL);
	}
}

/* trace makes a request that is refused while somebody else traces. */
static void trace(long request, pid_t pid) {
	int said = 0;
	for (long begun = now_us(); ptrace(request, pid, 0, 0) != 0; live_sleep_us(500)) {
		if (errno != EPERM || late(begun, &said, "ptrace")) {
			fault("ptrace", request);
			return;
		}
		count(&book->refused);
	}
}

/* stands takes the next stop of a traced child. */
static void stands(pid_t pid, int want) {
	int status = 0;
	expect("waitpid of a trace", waitpid(pid, &status, __WALL), pid);
	expect("trace stop", status, want << 8 | 0x7f);
}

static void on_traced(int sig) {
	(void)sig;
	count(&book->done[TRACES]);
}

static void traces(void) {
	pid_t pid = child();
	if (pid == 0) {
		signal(SIGUSR2, on_traced);
		trace(PTRACE_TRACEME, 0);
		for (int i = 0; i < 5; i++)
			raise(SIGUSR2);
		_exit(5);
	}
	long handled = seen(&book->done[TRACES]);
	for (int i = 0; i < 5; i++) {
		stands(pid, SIGUSR2);
		expect("PTRACE_CONT", ptrace(PTRACE_CONT, pid, 0, SIGUSR2), 0);
	}
	ended("traced child", pid, exited(5));
	expect("signals to a traced child", seen(&book->done[TRACES]) - handled, 5);
	if ((pid = child()) == 0)
		live_forever();
	trace(PTRACE_SEIZE, pid);
	expect("PTRACE_INTERRUPT", ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
	stands(pid, SIGTRAP | PTRACE_EVENT_STOP << 8);
	expect("PTRACE_DETACH", ptrace(PTRACE_DETACH, pid, 0, 0), 0);
	kill(pid, SIGTERM);
	ended("child that was let go", pid, SIGTERM);
}

static void *spin(void *unused) {
	for (long end = now_us() + 500; now_us() < end;)
		;
	live_forever();
	return unused;
}

static void *rest(void *unused) {
	live_forever();
	return unused;
}

static void kills(void) {
	static unsigned seed = 1;
	pid_t pid = child();
	if (pid == 0) {
		pthread_t thread;
		pthread_create(&thread, NULL, spin, NULL);
		pthread_create(&thread, NULL, rest, NULL);
		live_forever();
	}
	live_sleep_us(rand_r(&seed) % 3000);
	kill(pid, SIGKILL);
	ended("child", pid, SIGKILL);
}

static void credentials(void) {
	pid_t pid = child();
	if (pid == 0) {
		uid_t before = geteuid();
		for (int i = 0; i < 4; i++) {
			expect("PR_SET_DUMPABLE", prctl(PR_SET_DUMPABLE, i % 2), 0);
			expect("dumpable", prctl(PR_GET_DUMPABLE), i % 2);
			if (before == 0) {
				expect("seteuid", seteuid(NOBODY), 0);
				live_sleep_us(300);
				expect("geteuid", geteuid(), NOBODY);
				expect("seteuid back", seteuid(0), 0);
			}
			live_sleep_us(300);
		}
		if (before == 0) {
			expect("setuid", setuid(NOBODY), 0);
			expect("setuid back", setuid(0), -1);
		}
		execl(self, self, "leaf", "6", (char *)NULL);
		_exit(99);
	}
	ended("child", pid, exited(6));
}

#define REFUSED_CALL 77

static void filter(void) {
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | REFUSED_CALL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		live_die("prctl(PR_SET_SECCOMP)");
	for (int i = 0; i < 10; i++) {
		struct timespec nap = {0, 200000};
		expect("filtered call", syscall(SYS_getppid), -1);
		expect("its error", errno, REFUSED_CALL);
		expect("nanosleep", nanosleep(&nap, NULL), 0);
	}
}

static void filters(void) {
	int pipes[2];
	char byte;
	pid_t pid = child();
	if (pid == 0) {
		filter();
		_exit(9);
	}
	ended("child with a filter", pid, exited(9));
	if (pipe(pipes) != 0)
		live_die("pipe");
	if ((pid = child()) == 0) {
		close(pipes[1]);
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		while (read(pipes[0], &byte, 1) == 1) /* anything else than these two calls is SIGKILL */
			;
		syscall(SYS_exit, 3);
	}
	for (int i = 0; i < 5; i++) {
		expect("write", write(pipes[1], "x", 1), 1);
		live_sleep_us(300);
	}
	close(pipes[1]);
	close(pipes[0]);
	ended("child in strict mode", pid, exited(3));
}

static void *sleeper(void *unused) {
	while (!over()) {
		struct timespec nap = {0, 200000000};
		long begun = now_us();
		expect("nanosleep", nanosleep(&nap, NULL), 0);
		if (now_us() - begun < 200000)
			fault("slept too short", now_us() - begun);
		count(&book->done[SLEEPS]);
	}
	return unused;
}

static void sleeps(long threads) {
	pthread_t *all = calloc((size_t)threads, sizeof *all);
	for (long i = 0; i < threads; i++)
		if (pthread_create(&all[i], NULL, sleeper, NULL) != 0)
			live_die("pthread_create");
	for (long i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
}

static void run(enum role role, long threads) {
	static void (*const turns[ROLES])(void) = {[SIGNALS] = signals, [FORKS] = forks, [VFORKS] = vforks,
		[STOPS] = stops, [TRACES] = traces, [KILLS] = kills, [CREDENTIALS] = credentials, [FILTERS] = filters};
	me = role;
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		if (sig != SIGCHLD && sig != SIGSEGV && sig != SIGBUS && sig != SIGABRT && sig != SIGTERM)
			signal(sig, on_strange);
	signal(SIGTERM, SIG_DFL);
	if (role == EXECS)
		execute(0);
	if (role == SLEEPS)
		sleeps(threads);
	else
		while (!last) {
			last = over();
			turns[role]();
			if (role != TRACES)
				count(&book->done[role]);
			live_sleep_us(15000);
		}
	exit(0);
}

/* finish waits until a role has ended what it began. */
static void finish(enum role role, pid_t pid) {
	int status = 0, said = 0;
	me = role;
	for (long begun = now_us(); waitpid(pid, &status, WNOHANG) == 0; live_sleep_us(1000))
		if (late(begun, &said, "its end") && now_us() - begun > PATIENCE_US + 5000000) {
			count(&book->stuck);
			dprintf(2, "mixed: %s: process %d does not end\n", names[role], pid);
			(void)!system("ps -eLo pid,tid,ppid,ni,stat,wchan:24,args | grep '[m]ixed' >&2");
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return;
		}
	expect("status of the role", status, 0);
}

static int report(void) {
	long bad = book->stuck + book->strange + (book->sent != book->received) + (book->asked != book->answered);
	char line[1024];
	int at = 0;
	for (int i = 0; i < ROLES; i++)
		bad += book->faults[i];
	at += snprintf(line, sizeof line, "%s", bad ? "bad" : "ok");
	for (int i = 0; i < ROLES; i++)
		at += snprintf(line + at, sizeof line - (size_t)at, " %s=%ld", names[i], book->done[i]);
	at += snprintf(line + at, sizeof line - (size_t)at,
		" sent=%ld received=%ld asked=%ld answered=%ld refused=%ld faults strange=%ld stuck=%ld", book->sent,
		book->received, book->asked, book->answered, book->refused, book->strange, book->stuck);
	for (int i = 0; i < ROLES; i++)
		at += snprintf(line + at, sizeof line - (size_t)at, " bad_%s=%ld", names[i], book->faults[i]);
	snprintf(line + at, sizeof line - (size_t)at, "\n");
	live_say(line);
	return bad != 0;
}

static void share(int file) {
	book_file = file;
	book = mmap(NULL, sizeof *book, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (book == MAP_FAILED)
		live_die("mmap");
}

int main(int argc, char **argv) {
	pid_t roles[ROLES];
	sigset_t end;
	int sig;
	self = argv[0];
	if (argc == 3 && strcmp(argv[1], "leaf") == 0)
		return (int)live_number(argc, argv, 2, 99);
	if (argc == 4 && strcmp(argv[1], "again") == 0) {
		share((int)live_number(argc, argv, 2, -1));
		return again(live_number(argc, argv, 3, -1));
	}
	live_begin();
	int file = memfd_create("mixed", 0);
	if (file < 0 || ftruncate(file, sizeof *book) != 0)
		live_die("memfd_create");
	share(file);
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	for (enum role role = 0; role < ROLES; role++)
		if ((roles[role] = child()) == 0)
			run(role, live_number(argc, argv, 1, 64));
	sigprocmask(SIG_BLOCK, &end, NULL);
	for (enum role role = 0; role < ROLES; role++)
		reached("begins", &book->done[role], 1);
	live_ready();
	__atomic_store_n(&book->ready, 1, __ATOMIC_SEQ_CST);
	sigwait(&end, &sig);
	__atomic_store_n(&book->over, 1, __ATOMIC_SEQ_CST);
	for (enum role role = 0; role < ROLES; role++)
		finish(role, roles[role]);
	return report();
}

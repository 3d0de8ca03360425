/* family parent|tracer|debugger|reuse ...: a process and its relation to another.
 *
 *   parent COMMAND...   its child executes COMMAND; it waits for it in wait4, without any
 *                       loop around, and prints "waited STATUS"
 *   tracer COMMAND...   the same, but it traces the child (PTRACE_SEIZE) from the start;
 *                       the child's stops are passed on
 *   debugger            its child, which it traces, stands in a trace stop; prints
 *                       "R CHILD" and sleeps
 *   reuse PID           makes a child with this process id (clone3, CAP_SYS_ADMIN),
 *                       prints "R" and sleeps; "n" if it may not
 *
 * In COMMAND the word @ stands for the process id of the family. */
#include "../../../testdata/live/live.h"
#include <linux/sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static void run(char **command) {
	static char self[16];
	snprintf(self, sizeof self, "%d", (int)getppid());
	for (char **word = command; *word != NULL; word++)
		if (strcmp(*word, "@") == 0)
			*word = self;
	execv(command[0], command);
	live_die("execv");
}

static int parent(char **command, int trace) {
	char line[64], go;
	int gate[2], status;
	if (pipe(gate) != 0)
		live_die("pipe");
	pid_t child = fork();
	if (child == 0) {
		(void)!read(gate[0], &go, 1);
		run(command);
	}
	if (trace && ptrace(PTRACE_SEIZE, child, 0, 0) != 0)
		live_die("ptrace(PTRACE_SEIZE)");
	(void)!write(gate[1], "x", 1);
	for (;;) {
		pid_t got = waitpid(child, &status, trace ? __WALL : 0);
		if (got != child)
			live_die("waitpid");
		if (!WIFSTOPPED(status))
			break;
		ptrace(PTRACE_CONT, child, 0, status >> 16 == 0 ? WSTOPSIG(status) : 0);
	}
	snprintf(line, sizeof line, "waited %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	live_say(line);
	return 0;
}

static void debugger(void) {
	char line[64];
	int status;
	pid_t child = fork();
	if (child == 0)
		live_forever();
	if (ptrace(PTRACE_SEIZE, child, 0, PTRACE_O_EXITKILL) != 0 || ptrace(PTRACE_INTERRUPT, child, 0, 0) != 0 ||
		waitpid(child, &status, __WALL) != child)
		live_die("ptrace");
	snprintf(line, sizeof line, "R %d\n", (int)child);
	live_say(line);
	live_forever();
}

static void reuse(pid_t wanted) {
	struct clone_args args = {.exit_signal = SIGCHLD, .set_tid = (unsigned long)&wanted, .set_tid_size = 1};
	long child = syscall(SYS_clone3, &args, sizeof args);
	if (child == 0) { /* it says so itself: from then on it ends with us */
		live_begin();
		live_ready();
	} else if (child < 0) {
		live_say("n\n");
	}
	live_forever();
}

int main(int argc, char **argv) {
	live_begin();
	if (argc > 2 && strcmp(argv[1], "parent") == 0)
		return parent(argv + 2, 0);
	if (argc > 2 && strcmp(argv[1], "tracer") == 0)
		return parent(argv + 2, 1);
	if (argc > 2 && strcmp(argv[1], "reuse") == 0)
		reuse((pid_t)live_number(argc, argv, 2, 0));
	if (argc > 1 && strcmp(argv[1], "debugger") == 0)
		debugger();
	return 64;
}

/* hang: a test that asks a program for an answer and hangs. The program writes more than a pipe holds, and the test
 * waits for its end before it reads. It ends after an hour, or with Ctrl-C. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_report(int to) {
	char line[1024];
	memset(line, 'x', sizeof line);
	for (int i = 0; i < 1024; i++)
		if (write(to, line, sizeof line) < 0)
			exit(1);
}

static int wait_for_program(pid_t pid) {
	int status;
	waitpid(pid, &status, 0); /* it should read first */
	return status;
}

int main(void) {
	int answer[2];
	alarm(3600);
	puts("test_report ...");
	fflush(stdout);
	if (pipe(answer) != 0)
		return 1;
	pid_t pid = fork();
	if (pid == 0) {
		alarm(3600);
		close(answer[0]);
		write_report(answer[1]);
		return 0;
	}
	close(answer[1]);
	return wait_for_program(pid);
}

/* Eight threads wait for jobs, the first one for connections, one for signals. */
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int jobs;
static sigset_t set;

static void *worker(void *x) {
	pthread_mutex_lock(&lock);
	while (!jobs)
		pthread_cond_wait(&more, &lock);
	return x;
}

static void *signals(void *x) {
	int s;
	sigwait(&set, &s);
	return x;
}

int main(void) {
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	pthread_t t;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, 0);
	if (bind(fd, (void *)&at, sizeof at) || listen(fd, 8))
		return 1;
	pthread_create(&t, 0, signals, 0);
	for (int i = 0; i < 8; i++)
		pthread_create(&t, 0, worker, 0);
	puts("ready");
	fflush(stdout);
	for (;;)
		close(accept(fd, 0, 0));
}

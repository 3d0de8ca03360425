//go:build linux

package hang

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

// crowd is a program whose threads all wait for the end of one process, and those of it for a lock that one has.
const crowd = `// N threads wait for one child, whose N threads wait for a mutex that its first one has.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
static pid_t child;
static pthread_barrier_t all;

static void *await_child(void *arg)
{
	pthread_barrier_wait(&all);
	waitpid(child, NULL, 0);
	return arg;
}

static void *await_lock(void *arg)
{
	pthread_barrier_wait(&all);
	pthread_mutex_lock(&taken);
	return arg;
}

static void start(int n, void *(*function)(void *))
{
	pthread_attr_t small;
	pthread_t t;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 16);
	pthread_barrier_init(&all, NULL, n + 1);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t, &small, function, NULL))
			exit(1);
	pthread_barrier_wait(&all);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, p[2];
	char c;
	pipe(p);
	if ((child = fork()) == 0) {
		pthread_mutex_lock(&taken);
		start(n, await_lock);
		write(p[1], "x", 1);
		sleep(1000);
	}
	start(n, await_child);
	read(p[0], &c, 1);
	usleep(300000);
	puts("ready");
	fflush(stdout);
	sleep(1000);
}
`

// TestCrowd: for four times as many threads waits and hang take some four times as much CPU time: of many that wait for
// one process each was joined with each before.
func TestCrowd(t *testing.T) {
	harness.Need(t, "gcc")
	few := 500
	if harness.All {
		few = 1000
	}
	many := 4 * few
	cost := map[string]map[int]time.Duration{"waits": {}, "hang": {}}
	for _, n := range []int{few, many} {
		p := &harness.Program{Files: map[string]string{"crowd.c": crowd}, Argv: []string{"./crowd", fmt.Sprint(n)},
			Ready: "ready"}
		pid := fmt.Sprint(p.Begin(t))
		for what, args := range map[string][]string{"waits": {pid, "--children", "--waits"},
			"hang": {"hang", "-p", pid}} {
			for range map[string]int{"waits": 3, "hang": 1}[what] { // the least of them
				cmd := exec.Command(fpstack, args...)
				out, _ := cmd.CombinedOutput() // its status is the verdict
				if !strings.Contains(string(out), fmt.Sprint(n)) {
					t.Errorf("%s of %d threads: %.2000s", what, n, out)
				}
				took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				if least, known := cost[what][n]; !known || took < least {
					cost[what][n] = took
				}
			}
		}
	}
	for what, by := range cost {
		t.Logf("%s: %v of %d threads, %v of %d", what, by[few], few, by[many], many)
		if by[many] > 8*by[few] {
			t.Errorf("%s takes %v of %d threads, and %v of %d", what, by[many], many, by[few], few)
		}
	}
}

//go:build linux

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// sleeperSource sleeps below two functions: one that loads the number of nanosleep as a constant, and one that
// was given it.
const sleeperSource = `
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static struct timespec span = {1000, 0};
__attribute__((noinline)) static long constant(void) {
	long r;
	__asm__ volatile("movl $35, %%eax\n\tmov %%rdx, %%rdx\n\tsyscall"
		: "=a"(r) : "D"(&span), "S"(0L) : "rcx", "r11", "memory");
	return r;
}
__attribute__((noinline)) static long given(long number) {
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(number), "D"(&span), "S"(0L) : "rcx", "r11", "memory");
	return r;
}
static long number = 35;
static void *other(void *x) { given(*(volatile long *)&number); return x; }
int main(void) {
	pthread_t t;
	pthread_create(&t, NULL, other, NULL);
	puts("R");
	fflush(stdout);
	return (int)constant();
}
`

// A stop makes the kernel go on with a sleep by restart_syscall. The next dump shows the call that it is, and so does a
// recording, where the code proves it, and else what the kernel says.
func TestCallGoesOnAfterAStop(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is of amd64")
	}
	dir := room(t)
	if err := os.WriteFile(filepath.Join(dir, "sleeper.c"), []byte(sleeperSource), 0o644); err != nil {
		t.Fatal(err)
	}
	sh(t, dir, "gcc -O1 -g -pthread -o sleeper sleeper.c")
	p := launch(t, exec.Command(filepath.Join(dir, "sleeper"))).ready(t)
	other := 0
	for i := range 3 {
		asleep(t, p.pid)
		d := dumpJSON(t, p.pid)
		for _, th := range d.Threads {
			want := "nanosleep"
			if th.TID != p.pid {
				other = th.TID
			}
			if th.TID != p.pid && i > 0 {
				want = "restart_syscall"
			}
			if th.Syscall == nil || th.Syscall.Name != want {
				t.Errorf("dump %d, thread %d: got call %+v, want %s", i, th.TID, th.Syscall, want)
			}
		}
	}
	for tid, want := range map[int]string{p.pid: "main;constant;nanosleep ", other: "other;given;restart_syscall "} {
		o := show(t, "record", "-q", "-p", strconv.Itoa(p.pid), "-t", strconv.Itoa(tid), "-d", "300ms", "-f", "folded")
		if o.status != 0 || !strings.Contains(o.stdout, want) {
			t.Errorf("recording of thread %d: status %d, want %q in\n%s%s", tid, o.status, want, o.stdout, o.stderr)
		}
	}
}

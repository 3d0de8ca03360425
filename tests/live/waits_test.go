//go:build linux

package live

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/tests/harness"
)

// waitsDoc is what these tests want of `fpstack --waits -f json`, and of a dump.
type waitsDoc struct {
	Processes []struct{ PID int }
	Threads   []struct {
		PID, TID int
		Wait     *waitDoc
	}
	Cycles []struct {
		Kind, Text string
		Threads    []int
		Lines      []string
		Stood      int64 `json:"stood_ns"`
		Behind     []int
	}
	Roots []struct {
		PID, TID int
		Text     string
		Behind   []int
	}
	Waiting, Owned int
}

type waitDoc struct {
	Text, Kind, Mode, Certainty, Address string
	Wakers                               []struct{ PID, TID int }
	Timed                                bool
	Left                                 int64 `json:"left_ns"`
}

// waitsOf runs fpstack --waits.
func waitsOf(t testing.TB, args ...string) *waitsDoc {
	t.Helper()
	o := show(t, append([]string{"--waits", "-f", "json"}, args...)...)
	var doc waitsDoc
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil || o.status != 0 {
		t.Fatalf("fpstack --waits %v: status %d: %v\n%s%s", args, o.status, err, o.stdout, o.stderr)
	}
	return &doc
}

// locked is a program in a scenario of testdata/live/locks.c, with what it said of itself: threads and objects.
type locked struct {
	*target
	said map[string]string
}

func startLocked(t testing.TB, name string, args ...string) *locked {
	t.Helper()
	l := &locked{launch(t, exec.Command(program(t, name), args...)), map[string]string{}}
	for {
		line := l.line(t)
		if line == "R" {
			return l
		}
		key, value, ok := strings.Cut(line, " ")
		if !ok {
			t.Fatalf("%s %v said %q", name, args, line)
		}
		l.said[key] = value
	}
}

// settled waits until every thread of the process sleeps, as all do in the end.
func (l *locked) settled(t testing.TB) *locked {
	t.Helper()
	asleep(t, l.pid)
	return l
}

// expand puts what the program said in the place of {name}, and its id for {pid}.
func (l *locked) expand(pattern string) string {
	return regexp.MustCompile(`\{\w+\}`).ReplaceAllStringFunc(pattern, func(name string) string {
		if name == "{pid}" {
			return strconv.Itoa(l.pid)
		}
		return l.said[strings.Trim(name, "{}")]
	})
}

// lockTests are scenarios with the lines that fpstack --waits must write, as regular expressions, and those it must
// not.
var lockTests = []struct {
	scenario string
	want     []string
	never    string
	amd64    bool     // known there alone
	symbols  bool     // known by names
	muslWant []string // of musl, where that is not the same; nil: not tried there
}{
	{scenario: "abba", want: []string{
		`^deadlock: 2 threads wait for each other$`,
		`^  thread {t0} "locks.*" waits for mutex {m1} held by {t1} "`,
		`^  thread {t1} "locks.*" waits for mutex {m0} held by {t0} "`,
		`^  none of them ran in the `},
		muslWant: []string{`^{t0} "locks.*  S  waits for mutex {m1}, musl does not record`,
			`^no deadlock found`}},
	{scenario: "abba-recursive", want: abbaOf("recursive mutex"), muslWant: abbaOf("recursive mutex")},
	{scenario: "abba-errorcheck", want: abbaOf("error-checking mutex"), muslWant: abbaOf("error-checking mutex")},
	{scenario: "abba-adaptive", want: abbaOf("adaptive mutex")},
	{scenario: "abba-shared", want: abbaOf("mutex")},
	{scenario: "abba-robust", want: abbaOf("robust mutex"), muslWant: abbaOf("robust mutex")},
	{scenario: "abba-timed", want: []string{
		`^no deadlock: 2 threads wait for each other, until one gives up$`,
		`^  thread {t1} .* waits for mutex {m0} held by {t0} ".*", gives up in \d`,
		`^no deadlock found`}, never: `^deadlock`,
		muslWant: []string{`musl does not record.*, with a time limit`}},
	{scenario: "abba-inherit", want: []string{
		`^{t0} .* waits for priority-inheritance mutex {m1} held by {t1} "`,
		`^{t1} .*  S  parked for ever by libc`}, never: `^deadlock`,
		muslWant: []string{`^{t1} .*  S  parked for ever by libc`}},
	{scenario: "ring", want: []string{
		`^deadlock: 3 threads wait for each other$`,
		`^  thread {t2} .* waits for mutex {m0} held by {t0} "`,
		`^  1 thread behind: {t3}$`}},
	{scenario: "self", want: []string{
		`^deadlock: the thread waits for itself$`,
		`^  thread {t0} .* waits for mutex {m0} held by itself$`}},
	{scenario: "self-robust", want: []string{`^  thread {t0} .* waits for robust mutex {m0} held by itself$`}},
	{scenario: "exited", want: []string{
		`^{t3} .* waits for mutex 0x\w+, held by thread {t1}, which has exited$`}, never: `^deadlock`},
	{scenario: "exited-inherit", want: []string{`^thread {t3} ".*" is parked for ever by libc`}, never: `^deadlock`},
	{scenario: "exited-recursive", muslWant: []string{`^{t3} .* waits for recursive mutex .* has exited$`},
		want: []string{`^{t3} .* waits for recursive mutex 0x\w+, held by thread {t1}, which has exited$`}},
	{scenario: "two-processes", want: []string{
		`^deadlock: 2 threads wait for each other$`,
		`^  process {pid} ".*" waits for mutex 0x\w+ held by process {child} "`,
		`^  process {child} ".*" waits for mutex 0x\w+ held by process {pid} "`},
		muslWant: []string{`musl does not record`}},
	{scenario: "two-processes-robust", want: []string{
		`^  process {child} ".*" waits for robust mutex 0x\w+ held by process {pid} "`},
		muslWant: []string{`^  process {child} ".*" waits for robust mutex 0x\w+ held by process {pid} "`}},
	{scenario: "forked", want: []string{
		`locked by thread {t0} when the process was forked, never unlocked here$`}, never: `^deadlock`},
	{scenario: "upgrade", want: []string{
		`^cycle of waits: nobody but these 3 threads could end one of their waits`,
		`waits for rwlock 0x\w+, held by 2 readers, and rwlocks do not record which$`}, never: `^deadlock`},
	{scenario: "reader", want: []string{
		`^{t0} .*  S  waits for rwlock {rw}, held by 1 reader, and rwlocks do not record which$`},
		never:    `rwlock.*held by \d+ "`,
		muslWant: []string{`waits for rwlock {rw}, musl does not record which readers`}},
	{scenario: "writer", want: []string{`^{t1} .*  S  waits for rwlock {rw} held by {t0} "`},
		muslWant: []string{`waits for rwlock or semaphore {rw}, musl does not record`}},
	{scenario: "writers", want: []string{
		`^2 threads wait for thread {t0} "`,
		`^{t1} .*  S  waits for mutex {m0} held by {t0} "`,
		`^{t2} .*  S  waits for rwlock {rw} held by {t1} "`}},
	{scenario: "cond", want: []string{
		`^{t0} .*  S  waits for condition variable {cond} \(with mutex {m0}\)$`}, never: `^deadlock|^cycle`,
		muslWant: []string{`^{t0} .*  S  waits for condition variable {cond} \(with mutex {m0}\)$`}},
	{scenario: "cond-held", want: []string{`^3 threads .*  S  waits for mutex {m0} held by {t3} "`},
		muslWant: []string{`  S  waits for mutex {m0}, musl does not record`}},
	{scenario: "cond-moved", muslWant: []string{
		`^{t1} .*  S  waits for mutex {m0}`, `moved there from its condition variable`}},
	{scenario: "cond-stuck", want: []string{
		`^cycle of waits: nobody but these 2 threads`,
		`^  thread {pid} .* waits for thread {t0} ".*" to end`}, never: `^deadlock`,
		muslWant: []string{`^cycle of waits: nobody but these 2 threads`}},
	{scenario: "sem", want: []string{`  S  waits for semaphore {sem}$`},
		muslWant: []string{`  S  waits for rwlock or semaphore {sem}`}},
	{scenario: "stack-sem", want: []string{`^{t0} .*  S  waits for semaphore 0x\w+$`}, never: `parked`},
	{scenario: "stack-cond", want: []string{
		`^{t0} .*  S  waits for condition variable 0x\w+ \(with mutex {m0}\)$`}, never: `parked`},
	{scenario: "spin", never: `^deadlock|held by`,
		want:     []string{`^{t1} .*  R$`, `^no thread waits for another$`},
		muslWant: []string{`^{t1} .*  R$`, `^no thread waits for another$`}},
	{scenario: "once", symbols: true, want: []string{
		`^{t1} .*  S  waits for pthread_once 0x\w+, who runs it is not recorded$`}},
	{scenario: "barrier", want: []string{`  S  waits for barrier {barrier} \(1 of 3 threads have come\)$`}},
	{scenario: "join", want: []string{
		`^deadlock: 2 threads wait for each other$`,
		`^  thread {t0} .* waits for thread {t1} ".*" to end`,
		`^  thread {t1} .* waits for mutex {m0} held by {t0} "`},
		muslWant: []string{`^{t0} .*  S  waits for thread {t1} ".*" to end`}},
	{scenario: "stdio", want: []string{`^{t1} .*  S  waits for lock of a stdio FILE 0x\w+ held by {t0} "`},
		muslWant: []string{`^{t1} .*  S  waits for lock of a stdio FILE 0x\w+ held by {t0} "`}},
	{scenario: "handler", amd64: true, want: []string{
		`^thread {t3} ".*" waits for thread {t1} "`,
		`^{t1} .* below a signal handler: waits for mutex {m0} held by {t0} "`}},
	{scenario: "malloc", symbols: true, want: []string{
		`^perhaps a deadlock: the thread seems to wait for itself, which is not proven$`,
		`^  thread {t0} .* waits for malloc arena 0x\w+ held by itself, as stacks show$`}, never: `^deadlock`},
	{scenario: "many", want: []string{
		`^500 threads wait for thread {t0} "`,
		`^500 threads .*  S  waits for mutex {m0} held by {t0} "`},
		muslWant: []string{`^500 threads .*  S  waits for mutex {m0}, musl does not record`}},
}

// abbaOf is two threads in a deadlock by mutexes of that kind.
func abbaOf(kind string) []string {
	return []string{
		`^deadlock: 2 threads wait for each other$`,
		`^  thread {t0} .* waits for ` + kind + ` {m1} held by {t1} "`,
		`^  thread {t1} .* waits for ` + kind + ` {m0} held by {t0} "`,
		`^  none of them ran in the `}
}

// TestWaits holds the verdict on each scenario: for glibc, static, stripped and 32-bit programs, and for musl.
func TestWaits(t *testing.T) {
	for _, name := range harness.With([]string{"locks", "locks-static-stripped", "locks-musl-static"}, "locks-stripped",
		"locks-m32-stripped", "locks-musl", "locks-musl-stripped") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range lockTests {
				want := c.want
				if strings.Contains(name, "musl") {
					want = c.muslWant
				}
				amd64 := runtime.GOARCH == "amd64" && !strings.Contains(name, "m32")
				if want == nil || c.symbols && name != "locks" || c.amd64 && !amd64 {
					continue
				}
				t.Run(c.scenario, func(t *testing.T) {
					l := startLocked(t, name, c.scenario)
					checkWaits(t, l, want, c.never, "-v", "--children", "-p", strconv.Itoa(l.pid))
					syscall.Kill(-l.pid, syscall.SIGKILL)
				})
			}
		})
	}
}

// TestWaitsInAPidNamespace: the words of locks have other ids there than we see.
func TestWaitsInAPidNamespace(t *testing.T) {
	asRoot(t)
	t.Parallel()
	cmd := exec.Command(installed(t, "unshare"), "--pid", "--fork", "--kill-child", "--mount-proc",
		program(t, "locks"), "abba")
	cmd.Env = append(os.Environ(), "LIVE_PARENT_IS_INIT=1")
	l := &locked{launch(t, cmd), map[string]string{}}
	for line := l.line(t); line != "R"; line = l.line(t) {
		if line == "" {
			t.Fatal("the program in the namespace ended")
		}
	}
	checkWaits(t, l, []string{`^deadlock: 2 threads wait for each other$`}, "", "--children", "-p", strconv.Itoa(l.pid))
	doc := waitsOf(t, "--children", "-p", strconv.Itoa(l.pid))
	for _, tid := range doc.Cycles[0].Threads {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", tid)); err != nil || string(b) != "locks\n" {
			t.Errorf("thread %d of the deadlock is %q (%v), want one of the program", tid, b, err)
		}
	}
}

// TestWaitsInAFullPidNamespace: of more processes in a pid namespace than are looked at one has the lock. That it was
// not seen there is not that it has exited.
func TestWaitsInAFullPidNamespace(t *testing.T) {
	asRoot(t)
	t.Parallel()
	path := harness.Compile(t, "gcc", "full.c", `#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void) {
	pthread_mutexattr_t shared;
	pthread_mutex_t *lock = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ready[2];
	char c;
	pipe(ready);
	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(lock, &shared);
	for (int i = 0; i < 300; i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (i == 299)
				pthread_mutex_lock(lock), write(ready[1], "x", 1);
			for (;;)
				pause();
		}
	read(ready[0], &c, 1);
	write(1, "R\n", 2);
	pthread_mutex_lock(lock);
}`, "full", "-pthread")
	l := &locked{launch(t, exec.Command(installed(t, "unshare"), "--pid", "--fork", "--kill-child", "--mount-proc",
		path)).ready(t), map[string]string{}}
	below, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", l.pid, l.pid))
	if err != nil {
		t.Fatal(err)
	}
	checkWaits(t, l, []string{`held by thread 301, which was not inspected`}, `has exited`,
		"-p", strings.TrimSpace(string(below)))
}

// TestWaitsForAThreadIDUsedAgain: of a thread that ended with a mutex locked another one has the id since, in a process
// of its own or in the same one.
func TestWaitsForAThreadIDUsedAgain(t *testing.T) {
	t.Parallel()
	asRoot(t)
	path := harness.Compile(t, "gcc", "again.c", `#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int id, met;
static void *takes(void *at) { pthread_mutex_lock(&lock); id = gettid(); return NULL; }
static void *wants(void *at) { return pthread_mutex_lock(&lock), NULL; }
static void *stays(void *at) {
	if (gettid() != id)
		return NULL;
	met = 1;
	for (;;)
		pause();
}
static void next_is_id(void) {
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY);
	dprintf(fd, "%d", id - 1);
	close(fd);
}
int main(int n, char **how) {
	pthread_t t, w;
	char c;
	pthread_create(&t, NULL, takes, NULL);
	pthread_join(t, NULL);
	pthread_create(&w, NULL, wants, NULL);
	write(1, "R\n", 2);
	read(0, &c, 1);
	for (int tries = 0; !met && tries < 100; tries++) {
		next_is_id();
		if (strcmp(how[1], "thread") == 0) {
			pthread_create(&t, NULL, stays, NULL);
			usleep(10000);
			continue;
		}
		int child = fork();
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		met = child == id;
	}
	puts(met ? "R" : "no id was used again");
	fflush(stdout);
	pause();
}`, "again", "-pthread")
	for _, c := range []struct{ who, want, never string }{
		{"process", `waits for mutex 0x\w+, held by thread \d+, which has exited$`, `forked|never unlocked`},
		{"thread", `waits for mutex 0x\w+; held by thread \d+, or by an earlier one of that id which has exited`,
			`held by \d+ "|^deadlock`},
	} {
		t.Run(c.who, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(installed(t, "unshare"), "--pid", "--fork", "--kill-child", "--mount-proc", path, c.who)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			l := &locked{launch(t, cmd).ready(t), map[string]string{}}
			below, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", l.pid))
			if err != nil {
				t.Fatal(err)
			}
			pid := strings.TrimSpace(string(below))
			if c.who == "thread" {
				sleepsForSure(t, pid)
			} else { // ids of one tick are not told apart
				time.Sleep(50 * time.Millisecond)
			}
			in.Write([]byte("x"))
			l.ready(t)
			checkWaits(t, l, []string{c.want}, c.never, "-p", pid)
		})
	}
}

// sleepsForSure waits until any CPU's clock shows that the last thread of the process has slept for some time. Such
// clocks leave out what interrupts and a host took since the start.
func sleepsForSure(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	var behind time.Duration // one clock at most
	for line := range strings.Lines(string(procfs.Read("/proc/stat", 1<<20))) {
		if f := strings.Fields(line); len(f) > 8 && strings.HasPrefix(f[0], "cpu") && f[0] != "cpu" {
			took := time.Duration(0)
			for _, count := range f[6:9] {
				ticks, _ := strconv.Atoi(count)
				took += time.Duration(ticks) * time.Second / procfs.TicksPerSecond
			}
			behind = max(behind, took)
		}
	}
	tid := slices.Max(threadsOf(n))
	const patience = 30 * time.Second
	end := time.Now().Add(patience)
	// The clock of its own CPU may be as far behind: then it is not waited for in vain.
	for 2*behind < patience && time.Now().Before(end) {
		if procfs.NewSlept("/proc").Of(n, tid) > behind+200*time.Millisecond {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Skip("a clock that tells for how long a thread has slept is not here")
}

// TestWaitsForTheLoader: a constructor that does not end keeps the loader's lock, for which a second dlopen waits.
func TestWaitsForTheLoader(t *testing.T) {
	t.Parallel()
	blocks := harness.Compile(t, "gcc", "blocks.c", `#include <unistd.h>
__attribute__((constructor)) static void keep(void) { for (;;) pause(); }`, "blocks.so", "-shared", "-fPIC")
	loads := harness.Compile(t, "gcc", "loads.c", `#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
static void *first(void *path) { return dlopen(path, RTLD_NOW); }
static void *second(void *how) {
	return strcmp(how, "dlsym") == 0 ? dlsym(RTLD_DEFAULT, "nowhere") : dlopen("libm.so.6", RTLD_NOW);
}
int main(int argc, char **argv) {
	pthread_t a, b;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_create(&a, NULL, first, argv[1]);
	sleep(1);
	pthread_create(&b, NULL, second, argv[2]);
	write(1, "R\n", 2);
	pthread_join(a, NULL);
}`, "loads", "-pthread", "-ldl")
	for _, second := range []string{"dlopen", "dlsym"} {
		l := &locked{launch(t, exec.Command(loads, blocks, second)).ready(t), map[string]string{}}
		checkWaits(t, l, []string{`  S  waits for loader lock 0x\w+ held by \d+ "loads"$`}, `^deadlock`,
			"-p", strconv.Itoa(l.pid))
	}
}

// checkWaits runs fpstack --waits until all its lines are there: threads may still be on their way to where they stay.
func checkWaits(t *testing.T, l *locked, want []string, never string, args ...string) {
	t.Helper()
	var missing string
	for try := 0; ; try++ {
		o := show(t, append([]string{"--waits", "-v", "--color=never"}, args...)...)
		lines := strings.Split(o.stdout, "\n")
		missing = ""
		for _, w := range want {
			expression := regexp.MustCompile(l.expand(w))
			if !slices.ContainsFunc(lines, expression.MatchString) {
				missing = expression.String()
			}
		}
		if never != "" {
			expression := regexp.MustCompile(l.expand(never))
			if i := slices.IndexFunc(lines, expression.MatchString); i >= 0 {
				t.Fatalf("it says %q:\n%s", lines[i], o.stdout)
			}
		}
		if missing == "" {
			return
		}
		if try == 20 {
			t.Fatalf("no line like %q in:\n%s%s", missing, o.stdout, o.stderr)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestWaitsOfLanguages holds the verdicts on programs of C++, Rust and Go.
func TestWaitsOfLanguages(t *testing.T) {
	both := []string{`^deadlock: 2 threads wait for each other$`}
	for _, c := range []struct {
		program, scenario string
		want              []string
		never             string
	}{
		{"locks-cc", "mutex", both, ""},
		{"locks-cc-stripped", "mutex", both, ""},
		{"locks-cc", "recursive", append(both, `^  thread {t0} .* waits for recursive mutex 0x\w+ held by {t1} "`), ""},
		{"locks-cc", "timed", both, ""},
		{"locks-cc", "shared", append(both, `^  thread {t0} .* waits for rwlock 0x\w+ held by {t1} "`), ""},
		{"locks-cc-stripped", "shared", both, ""},
		{"locks-cc", "guard", []string{
			`^perhaps a deadlock: 2 threads seem to wait for each other, which is not proven$`,
			`^  thread {t0} .* waits for initialisation of a static variable 0x\w+ held by {t1} "`}, `^deadlock`},
		{"locks-cc-stripped", "guard", []string{`  S  waits for initialisation of a static variable`}, `^deadlock`},
		{"locks-cc", "future", []string{`  S  waits for C\+\+ future or atomic`}, `^deadlock`},
		{"locks-rust", "mutex", []string{`  S  waits for Rust Mutex 0x\w+, locked, owner not recorded$`,
			`^no deadlock found`}, `^deadlock|condition variable`},
		{"locks-rust-stripped", "mutex", []string{`^no deadlock found`}, `^deadlock|condition variable|held by`},
		{"locks-rust", "rwlock", []string{`  S  waits for Rust RwLock 0x\w+, locked, owner not recorded$`},
			`^deadlock`},
		{"locks-rust", "condvar", []string{`  S  waits for Rust Condvar`}, `^deadlock`},
		{"locks-rust", "park", []string{`  S  waits for unpark of a Rust thread`}, `^deadlock|condition variable`},
		{"locks-rust-stripped", "park", []string{`^no deadlock found`}, `^deadlock|condition variable|held by`},
		{"locks-rust", "channel", []string{`  S  waits for unpark of a Rust thread`}, `^deadlock`},
		{"locks-parking", "mutex", []string{`  S  waits for parking_lot Mutex {m0}, locked, owner not recorded$`,
			`  S  waits for parking_lot Mutex {m1}, locked`}, `^deadlock`},
		{"locks-parking", "rwlock", []string{`  S  waits for parking_lot RwLock {rw}, locked, owner not recorded$`},
			`^deadlock`},
		{"locks-parking", "condvar", []string{`^2 threads .*  S  waits for parking_lot Condvar {condition}$`},
			`^deadlock`},
		{"locks-parking", "once", []string{`  S  waits for parking_lot Once {once}, who runs it is not recorded$`},
			`^deadlock`},
		{"locks-parking-stripped", "mutex", []string{`^no deadlock found`}, `^deadlock|held by|condition|semaphore`},
		{"locks-cgo", "idle", []string{`idle: Go threads without a goroutine`}, `^deadlock|^cycle`},
		{"locks-cgo-stripped", "idle", []string{`idle: Go threads without a goroutine`}, `^deadlock|^cycle`},
		{"locks-cgo", "server", []string{`idle: `}, `^deadlock|^cycle`},
		{"locks-cgo", "cgo", both, ""},
		{"locks-cgo-stripped", "cgo", both, ""},
	} {
		t.Run(c.program+"/"+c.scenario, func(t *testing.T) {
			t.Parallel()
			l := startLocked(t, c.program, c.scenario)
			checkWaits(t, l, c.want, c.never, "-p", strconv.Itoa(l.pid))
		})
	}
}

// TestDumpOfADeadlock: a dump has the same, in text and JSON, read again in the stop, and a saved dump keeps it.
func TestDumpOfADeadlock(t *testing.T) {
	t.Parallel()
	l := startLocked(t, "locks", "ring").settled(t)
	o := show(t, "-v", "-p", strconv.Itoa(l.pid))
	for _, want := range []string{"deadlock: 3 threads wait for each other\n",
		fmt.Sprintf("waits for mutex %s held by %s \"locks\"\n", l.said["m1"], l.said["t1"]),
		"  1 thread behind: " + l.said["t3"] + "\n"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("no %q in:\n%s", want, o.stdout)
		}
	}
	document := show(t, "-p", strconv.Itoa(l.pid), "-f", "json").stdout
	if n := strings.Count(document, "the same again while the threads were stopped"); n != 3 {
		t.Errorf("%d waits were confirmed in the stop, want those of the ring:\n%s", n, document)
	}
	file := room(t) + "/dump.json"
	if err := os.WriteFile(file, []byte(document), 0o644); err != nil {
		t.Fatal(err)
	}
	again := show(t, file).stdout
	if !strings.Contains(again, "deadlock: 3 threads wait for each other\n") {
		t.Errorf("a saved dump lost the deadlock:\n%s", again)
	}
}

// TestWaitsStopNothing: nobody was attached and no thread ran because of fpstack --waits.
func TestWaitsStopNothing(t *testing.T) {
	l := startLocked(t, "locks", "abba").settled(t)
	before := switchesOf(t, l.pid)
	tracer := make(chan string, 1)
	done := make(chan struct{})
	go func() {
		defer close(tracer)
		for {
			select {
			case <-done:
				return
			default:
			}
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.pid))
			if _, after, ok := strings.Cut(string(b), "TracerPid:\t"); ok && !strings.HasPrefix(after, "0\n") {
				tracer <- after[:8]
				return
			}
		}
	}()
	for range 20 {
		waitsOf(t, "-p", strconv.Itoa(l.pid))
	}
	stacks := show(t, "--no-stop", "-v", strconv.Itoa(l.pid))
	for _, want := range []string{"nothing stopped\n", "\ndeadlock: ", "held by ", "pthread_mutex_lock",
		"  start_thread+"} {
		if !strings.Contains(stacks.stdout, want) {
			t.Errorf("--no-stop does not show %q:\n%s%s", want, stacks.stdout, stacks.stderr)
		}
	}
	close(done)
	if by, ok := <-tracer; ok {
		t.Errorf("the process was traced by %q", by)
	}
	if after := switchesOf(t, l.pid); !slices.Equal(before, after) {
		t.Errorf("threads ran: %q before, %q after", before, after)
	}
}

// switchesOf is schedstat of each thread.
func switchesOf(t testing.TB, pid int) (all []string) {
	t.Helper()
	for _, tid := range threadsOf(pid) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(b))
	}
	return all
}

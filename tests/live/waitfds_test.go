//go:build linux

package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/waits"
	"github.com/fpstack/fpstack/waits/live"
)

// situation is one of testdata/live/fds.c, with its processes by name.
type situation struct {
	pids map[string]int
	tree []int // all but the parent
	*waits.Graph
}

// situate starts the processes of a situation and waits until all sleep.
func situate(t *testing.T, name string, args ...string) *situation {
	t.Helper()
	return situateBy(t, "fds", name, args...)
}

// situateBy does so with the build of fds.c that is called so.
func situateBy(t *testing.T, build, name string, args ...string) *situation {
	t.Helper()
	p := launch(t, exec.Command(program(t, build), append([]string{name, room(t)}, args...)...))
	s := &situation{pids: map[string]int{}}
	for line := p.line(t); line != "R"; line = p.line(t) {
		what, id, _ := strings.Cut(line, " ")
		pid, err := strconv.Atoi(id)
		if err != nil {
			t.Fatalf("the target wrote %q", line)
		}
		s.pids[what] = pid
		if what != "parent" && what != "semaphore" {
			s.tree = append(s.tree, pid)
		}
	}
	if name != "busy" {
		all := append(s.tree[:len(s.tree):len(s.tree)], s.pids["parent"])
		await(t, "all sleep", func() bool { return allSleep(t, all) })
	}
	return s
}

// allSleep reports whether all of pids slept at one moment: one that waits for another on the way to its situation
// sleeps too, but not while that one does. Who sleeps, and was on no CPU since the first look, slept then.
func allSleep(t *testing.T, pids []int) bool {
	before := map[int][]string{}
	for _, pid := range pids {
		before[pid] = switchesOf(t, pid)
	}
	for _, pid := range pids {
		if !strings.ContainsRune("SDTt", rune(stateOf(pid))) ||
			!slices.Equal(switchesOf(t, pid), before[pid]) {
			return false
		}
	}
	return true
}

// examine makes the graph of the processes of those names, of all without names.
func (s *situation) examine(t *testing.T, names ...string) *situation {
	t.Helper()
	pids := append([]int{s.pids["parent"]}, s.tree...)
	if len(names) > 0 {
		pids = nil
	}
	for _, name := range names {
		pids = append(pids, s.pids[name])
	}
	src := live.New()
	defer src.Close()
	facts, errs := src.Begin(context.Background(), pids)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	g, err := waits.Examine(context.Background(), src, facts)
	if err != nil {
		t.Fatal(err)
	}
	s.Graph = g
	return s
}

// of is the wait of the only thread of a process.
func (s *situation) of(t *testing.T, name string) *waits.Wait {
	t.Helper()
	w := s.Of(s.pids[name])
	if w == nil {
		t.Fatalf("%s %d is not blocked", name, s.pids[name])
	}
	return w
}

// checkWait fails unless the process waits so that its words match want, and for the processes of those names.
func (s *situation) checkWait(t *testing.T, name, want string, wakers ...string) {
	t.Helper()
	w := s.of(t, name)
	for other, pid := range s.pids {
		want = strings.ReplaceAll(want, "<"+other+">", fmt.Sprintf(`process %d "fds"`, pid))
		want = strings.ReplaceAll(want, "<"+other+":named>", fmt.Sprintf(`%d \(fds\)`, pid))
	}
	if words := s.Words(w); !regexp.MustCompile("^" + want + "$").MatchString(words) {
		t.Errorf("%s: %q, want %q", name, words, want)
	}
	var got, ids []int
	for _, to := range w.Wakers {
		got = append(got, to.PID)
	}
	for _, other := range wakers {
		ids = append(ids, s.pids[other])
	}
	slices.Sort(got)
	slices.Sort(ids)
	if !slices.Equal(got, ids) {
		t.Errorf("%s waits for %v, want %v", name, got, ids)
	}
}

// checkCycle fails unless there is one cycle, of that kind and those processes.
func (s *situation) checkCycle(t *testing.T, kind waits.CycleKind, names ...string) {
	t.Helper()
	var want []int
	for _, name := range names {
		want = append(want, s.pids[name])
	}
	slices.Sort(want)
	if len(s.Cycles) != 1 {
		t.Errorf("cycles %+v, want one", s.Cycles)
		return
	}
	c := &s.Cycles[0]
	got := slices.Clone(c.Threads)
	slices.Sort(got)
	if c.Kind != kind || !slices.Equal(got, want) || c.Stood <= 0 {
		t.Errorf("cycle %+v, want kind %d of %v", c, kind, want)
	}
}

// checkRoot fails unless those processes, and nobody else, wait for root in the end, which does what matches want, and
// there is no cycle.
func (s *situation) checkRoot(t *testing.T, root, want string, behind ...string) {
	t.Helper()
	var ids []int
	for _, name := range behind {
		ids = append(ids, s.pids[name])
	}
	slices.Sort(ids)
	if len(s.Cycles) > 0 || len(s.Roots) != 1 {
		t.Errorf("cycles %+v, roots %+v; want one root", s.Cycles, s.Roots)
		return
	}
	r := &s.Roots[0]
	slices.Sort(r.Behind)
	text := s.Show().Roots[0].Text
	if r.PID != s.pids[root] || !slices.Equal(r.Behind, ids) || !regexp.MustCompile(want).MatchString(text) {
		t.Errorf("root %+v %q, want %s %d: %q, and behind it %v", r, text, root, s.pids[root], want, ids)
	}
}

// TestWaitsAtDescriptors has a row for each situation of fds.c, with the verdict that it must have.
func TestWaitsAtDescriptors(t *testing.T) {
	const pipe, tcp = `\(pipe:\[\d+\]\)`, `\(tcp6? \S+ -> \S+ ESTABLISHED\)`
	for _, tt := range []struct {
		name  string
		check func(t *testing.T, s *situation)
	}{
		{"child-pipe", func(t *testing.T, s *situation) {
			s.checkWait(t, "parent", `waits for child <writer:named>`, "writer")
			s.checkWait(t, "writer", `waits for room in a full pipe `+pipe+`, from <parent>`, "parent")
			s.checkCycle(t, waits.Stuck, "parent", "writer")
		}},
		{"any-child", func(t *testing.T, s *situation) {
			s.checkWait(t, "parent", `waits for child <writer:named>`, "writer")
			s.checkCycle(t, waits.Stuck, "parent", "writer")
		}},
		{"both-empty", func(t *testing.T, s *situation) {
			s.checkWait(t, "left", `waits for data in a pipe `+pipe+`, from <right>`, "right")
			s.checkWait(t, "right", `waits for data in a pipe `+pipe+`, from <left>`, "left")
			s.checkCycle(t, waits.Stuck, "left", "right")
		}},
		{"both-full", func(t *testing.T, s *situation) {
			s.checkWait(t, "left", `waits for room in a full pipe `+pipe+`, from <right>`, "right")
			s.checkCycle(t, waits.Stuck, "left", "right")
		}},
		{"own-end", func(t *testing.T, s *situation) {
			s.checkWait(t, "reader",
				`waits for data in a pipe `+pipe+`, only the process itself has the write end`, "reader")
			s.checkCycle(t, waits.Stuck, "reader")
		}},
		{"sleeping-writer", func(t *testing.T, s *situation) {
			s.checkWait(t, "sleeper", `sleeps 1000 s(, .*)?`)
			s.checkRoot(t, "sleeper", `, which sleeps 1000 s`, "reader")
		}},
		{"stopped-writer", func(t *testing.T, s *situation) {
			s.checkWait(t, "stopped", `waits for SIGCONT, it is stopped by a signal`)
			s.checkRoot(t, "stopped", `, which is stopped$`, "reader")
		}},
		{"unix-pair", func(t *testing.T, s *situation) {
			s.checkWait(t, "left", `waits for data from a socket \(unix stream socket:\[\d+\]\), from <right>`, "right")
			s.checkCycle(t, waits.Stuck, "left", "right")
		}},
		{"unix-unaccepted", func(t *testing.T, s *situation) {
			s.checkWait(t, "client",
				`waits for its connection to be accepted \(unix stream to /.*/so\\ncket\), from <server>`,
				"server")
			s.checkRoot(t, "server", `, which sleeps`, "client")
		}},
		{"tcp", func(t *testing.T, s *situation) {
			s.checkWait(t, "client", `waits for data from a socket `+tcp+`, from <server>`, "server")
			s.checkWait(t, "server", `waits for data from a socket `+tcp+`, from <client>`, "client")
			s.checkCycle(t, waits.Stuck, "client", "server")
		}},
		{"tcp-mapped", func(t *testing.T, s *situation) {
			s.checkWait(t, "server", `waits for data from a socket `+tcp+`, from <client>`, "client")
			s.checkCycle(t, waits.Stuck, "client", "server")
		}},
		{"tcp-unaccepted", func(t *testing.T, s *situation) {
			s.checkWait(t, "client", `waits for its connection to be accepted `+tcp+`, from <server>`, "server")
			s.checkRoot(t, "server", `, which sleeps`, "client")
		}},
		{"netns-tcp", func(t *testing.T, s *situation) {
			s.checkWait(t, "client", `waits for data from a socket `+tcp+`, from <server>`, "server")
			s.checkCycle(t, waits.Stuck, "client", "server")
		}},
		{"netns-unix", func(t *testing.T, s *situation) {
			s.checkWait(t, "left", `waits for data from a socket \(unix stream socket:\[\d+\]\), from <right>`, "right")
			s.checkCycle(t, waits.Stuck, "left", "right")
		}},
		{"flock-cycle", func(t *testing.T, s *situation) {
			s.checkWait(t, "left", `waits for lock on a file \(/.*/two\) held by <right>`, "right")
			s.checkWait(t, "right", `waits for lock on a file \(/.*/one\) held by <left>`, "left")
			s.checkCycle(t, waits.Deadlock, "left", "right")
		}},
		{"ofd-cycle", func(t *testing.T, s *situation) {
			s.checkWait(t, "left", `waits for lock on a file \(/.*/two bytes 100 to 109\) held by <right>`, "right")
			s.checkWait(t, "right", `waits for lock on a file \(/.*/one bytes 100 to 109\) held by <left>`, "left")
			s.checkCycle(t, waits.Deadlock, "left", "right")
		}},
		{"posix-records", func(t *testing.T, s *situation) {
			s.checkWait(t, "waiter",
				`waits for lock on a file \(/.*/records bytes 10 to 19\) held by <holder>`, "holder")
			s.checkRoot(t, "holder", `, which sleeps`, "waiter")
		}},
		{"ofd-records", func(t *testing.T, s *situation) {
			s.checkWait(t, "waiter",
				`waits for lock on a file \(/.*/records bytes 10 to 19\) held by <holder>`, "holder")
			s.checkRoot(t, "holder", `, which sleeps`, "waiter")
		}},
		{"inherited-flock", func(t *testing.T, s *situation) {
			s.checkWait(t, "waiter",
				`waits for lock on a file \(/.*/inherited\) held by <heir>, process \d+ took it and does `+
					`not have it any more: it was inherited`, "heir")
			s.checkRoot(t, "heir", `, which sleeps`, "waiter")
		}},
		{"eventfds", func(t *testing.T, s *situation) {
			s.checkWait(t, "left", `waits for eventfd \(eventfd-id \d+\), from .*`, "left", "right")
			s.checkCycle(t, waits.Stuck, "left", "right")
		}},
		{"sets", func(t *testing.T, s *situation) {
			for _, name := range []string{"poll", "select", "epoll"} {
				s.checkWait(t, name, `waits for descriptors \(\d+<pipe:\[\d+\]>\), from <sleeper>`, "sleeper")
			}
			s.checkWait(t, "limited",
				`waits for descriptors \(\d+<pipe:\[\d+\]>\), from <sleeper>, timeout 100 s`, "sleeper")
			s.checkRoot(t, "sleeper", `, which sleeps`, "poll", "select", "epoll", "limited")
		}},
		{"pidfd", func(t *testing.T, s *situation) {
			s.checkWait(t, "poller", `waits for descriptors \(\d+<<reader>>\), from <reader>`, "reader")
			s.checkCycle(t, waits.Stuck, "poller", "reader")
		}},
		{"fuse", func(t *testing.T, s *situation) {
			s.checkWait(t, "user", `waits for an answer of a FUSE file system \(/.*/file, mounted at /.*/mount from `+
				`fpstack-test\), from <daemon>`, "daemon")
			s.checkRoot(t, "daemon", `, which sleeps`, "user")
		}},
		{"terminal-pair", func(t *testing.T, s *situation) {
			s.checkWait(t, "slave",
				`waits for input from a terminal \(/dev/pts/\d+\), its master side is held by <master>; `+
					`a person types there`)
			if len(s.Cycles) > 0 {
				t.Errorf("cycles %+v at a terminal", s.Cycles)
			}
		}},
		{"alone", checkAlone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.HasPrefix(tt.name, "netns") || tt.name == "fuse" {
				asRoot(t)
			}
			tt.check(t, situate(t, tt.name).examine(t))
		})
	}
}

// checkAlone checks waits that no process of the program could end.
func checkAlone(t *testing.T, s *situation) {
	defer exec.Command("ipcrm", "-s", strconv.Itoa(s.pids["semaphore"])).Run()
	s.checkWait(t, "nanosleep", `sleeps 1000 s(, .*)?`)
	s.checkWait(t, "absolute", `sleeps, (499|500) s left`)
	s.checkWait(t, "pause", `waits for a signal; anybody may send one`)
	s.checkWait(t, "fifo",
		`waits for somebody to open the other end of a FIFO \(/.*/fi\\x1bfo\); any process that opens `+
			`the path could end it`)
	s.checkWait(t, "timerfd", `waits for timerfd, (299|300)(\.\d+)? s left`)
	s.checkWait(t, "signalfd", `waits for signalfd \(for signal 10\); anybody may send a signal`)
	s.checkWait(t, "inotify", `waits for inotify \(1 watch\); anybody may change a file that it watches`)
	s.checkWait(t, "semop", `waits for System V semaphore \(id \d+\); any process that uses it .*`)
	s.checkWait(t, "mq", `waits for a message in a POSIX message queue \(/fpstack-\d+ \(deleted\)\); any process that `+
		`opens it could end it`)
	s.checkWait(t, "full-mq", `waits for room in a full POSIX message queue \(/fpstack-\d+ \(deleted\)\); any .*`)
	s.checkWait(t, "accept",
		`waits for a connection to a socket \(tcp 127\.0\.0\.1:\d+ LISTEN\); anybody may connect to it`)
	s.checkWait(t, "terminal",
		`waits for input from a terminal \(/dev/pts/\d+\), its master side is held by <terminal>; `+
			`a person types there`)
	name := s.of(t, "io_uring").Object.Kind.Noun
	if name != "io_uring" && name != "a signal" { // a signal: it is forbidden
		t.Errorf("io_uring: %q", name)
	}
	if len(s.Cycles)+len(s.Roots) > 0 {
		t.Errorf("cycles %+v, roots %+v, want none", s.Cycles, s.Roots)
	}
}

// TestWaitsInVfork: a parent in vfork, which no signal stops, waits for its child.
func TestWaitsInVfork(t *testing.T) {
	s := situate(t, "vfork")
	children, err := tracer.ChildrenOf(s.pids["parent"])
	if err != nil || len(children) != 1 {
		t.Fatalf("children %v, %v", children, err)
	}
	s.pids["child"] = children[0]
	await(t, "the child reads", func() bool { return stateOf(children[0]) == 'S' })
	s.examine(t)
	s.checkWait(t, "parent", `waits for a vfork child to execute a program or end \(<child>\)`, "child")
	s.checkCycle(t, waits.Stuck, "parent", "child")
}

// TestWaitsFollowOthers: the process at the other end need not have been asked for.
func TestWaitsFollowOthers(t *testing.T) {
	s := situate(t, "sleeping-writer").examine(t, "reader")
	s.checkRoot(t, "sleeper", `, which sleeps 1000 s`, "reader")
	if shown := s.Show(); len(shown.Threads) != 1 {
		t.Errorf("%d threads are shown, one was asked for", len(shown.Threads))
	}
}

// TestWaitsOfBusyPipes: of two processes that hand a byte to each other all the time none is stuck.
func TestWaitsOfBusyPipes(t *testing.T) {
	s := situate(t, "busy")
	rounds := 200
	if n, err := strconv.Atoi(os.Getenv("FPSTACK_ROUNDS")); err == nil {
		rounds = n
	}
	waited := 0
	for range rounds {
		s.examine(t, "left", "right")
		if len(s.Cycles) > 0 {
			t.Fatalf("cycle %+v: %+v", s.Cycles[0], s.Waits)
		}
		waited += len(s.Waits)
	}
	if waited == 0 {
		t.Error("no wait was seen: this test would see no wrong one either")
	}
	t.Logf("%d waits in %d rounds", waited, rounds)
}

// TestWaitsOfStrangers: who may not read the descriptors of others is told so, and no cycle is claimed.
func TestWaitsOfStrangers(t *testing.T) {
	asRoot(t)
	s := situate(t, "both-empty")
	o := execute(t, bound, installed(t, "setpriv"), "--reuid", "65534", "--regid", "65534",
		"--clear-groups", fpstack, "--waits", "-p", strconv.Itoa(s.pids["left"]))
	if o.status != 2 || o.stdout != "" || o.stderr == "" {
		t.Errorf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
}

// TestWaitsOfTraced: gdb holds the writer: that is what the reader waits for.
func TestWaitsOfTraced(t *testing.T) {
	s := situate(t, "sleeping-writer")
	pid := strconv.Itoa(s.pids["sleeper"])
	launch(t, exec.Command(installed(t, "gdb"), "-nx", "-q", "-batch", "-ex", "shell sleep 600", "-p", pid))
	await(t, "gdb traces the process", func() bool { return tracerOf(pid) != "0" && stateOf(s.pids["sleeper"]) == 't' })
	s.examine(t, "reader")
	tracing, _ := strconv.Atoi(tracerOf(pid))
	s.pids["tracer"] = tracing
	if !slices.ContainsFunc(s.Roots, func(r waits.Root) bool { return r.PID == tracing && len(r.Behind) == 2 }) {
		t.Errorf("roots %+v, want gdb %d with two threads behind it", s.Roots, tracing)
	}
	s.checkWait(t, "sleeper", fmt.Sprintf(`waits for its tracer \(process %d "gdb"\), from process %[1]d "gdb"`,
		tracing), "tracer")
}

// TestWaitsOfFrozen: a frozen control group keeps the writer from going on, in either version.
func TestWaitsOfFrozen(t *testing.T) {
	for _, version := range []struct{ mount, file, freeze, thaw string }{
		{"cgroup2 ", "cgroup.freeze", "1", "0"}, {"cgroup .*freezer", "freezer.state", "FROZEN", "THAWED"}} {
		t.Run(version.file, func(t *testing.T) {
			mounts, err := os.ReadFile("/proc/self/mountinfo")
			if err != nil {
				t.Fatal(err)
			}
			mount := regexp.MustCompile(`(?m)^\S+ \S+ \S+ / (\S+) .* - ` + version.mount).FindSubmatch(mounts)
			if mount == nil {
				t.Skip("no control groups of that version")
			}
			s := situate(t, "sleeping-writer")
			group := filepath.Join(string(mount[1]), fmt.Sprintf("fpstack-waits-%d", os.Getpid()))
			if err := os.Mkdir(group, 0o700); err != nil {
				t.Skipf("no control group can be made: %v", err)
			}
			write := func(file, text string) error { return os.WriteFile(filepath.Join(group, file), []byte(text), 0) }
			t.Cleanup(func() {
				write(version.file, version.thaw)
				syscall.Kill(s.pids["sleeper"], syscall.SIGKILL)
				await(t, "the group is empty", func() bool { return os.Remove(group) == nil })
			})
			if err := errors.Join(write("cgroup.procs", strconv.Itoa(s.pids["sleeper"])),
				write(version.file, version.freeze)); err != nil {
				t.Skipf("no process can be frozen: %v", err)
			}
			await(t, "the group is seen frozen", func() bool {
				s.examine(t, "reader")
				return strings.Contains(s.Words(s.of(t, "sleeper")), "thawed")
			})
			s.checkWait(t, "sleeper", `waits for its control group to be thawed \(/.*fpstack-waits-\d+\)`)
			s.checkRoot(t, "sleeper", `to be thawed`, "reader")
		})
	}
}

// TestWaitsOfUser: without root, a user's own pipes are followed, although the descriptors of most processes may not be
// read; the sockets of a network namespace that it may not enter are said to be not seen.
func TestWaitsOfUser(t *testing.T) {
	asRoot(t)
	file := filepath.Join(t.TempDir(), "fpstack")
	copyFile(t, fpstack, file)
	for _, dir := range []string{filepath.Dir(file), filepath.Dir(filepath.Dir(file))} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	target := enterable(t, "fds")
	user := []string{"--reuid", "65534", "--regid", "65534", "--clear-groups"}
	for _, tt := range []struct {
		situation string
		before    []string
		want      string
	}{
		{"both-empty", []string{"setsid", "--wait"}, `(?s)^cycle of waits: .*waits for data in a pipe`},
		{"unix-pair", []string{"unshare", "--net"},
			`its other end is not seen: it is in another network namespace, and to enter that takes CAP_SYS_ADMIN`},
	} {
		line := append(append(tt.before, "setpriv"), append(user, target, tt.situation, "/tmp")...)
		p := launch(t, exec.Command(installed(t, line[0]), line[1:]...))
		var pids []string
		for l := p.line(t); l != "R"; l = p.line(t) {
			_, id, _ := strings.Cut(l, " ")
			pids = append(pids, id)
		}
		for _, id := range pids {
			pid, _ := strconv.Atoi(id)
			await(t, "it sleeps", func() bool { return stateOf(pid) == 'S' })
		}
		o := execute(t, bound, installed(t, "setpriv"), append(user, file, "--waits", "-p", strings.Join(pids, ","))...)
		if o.status != 0 || !regexp.MustCompile(tt.want).MatchString(o.stdout) {
			t.Errorf("%s: status %d, want %q\n%s%s", tt.situation, o.status, tt.want, o.stdout, o.stderr)
		}
	}
}

// TestWaitsRestarted: a wait that was stopped once goes on as restart_syscall, whose number on 32 bits is that of read
// on 64; it is shown as what it was.
func TestWaitsRestarted(t *testing.T) {
	for _, build := range []string{"fds", "fds-m32"} {
		t.Run(build, func(t *testing.T) {
			s := situateBy(t, build, "sets")
			for _, name := range []string{"poll", "limited", "sleeper"} {
				pid := s.pids[name]
				syscall.Kill(pid, syscall.SIGSTOP)
				await(t, "it is stopped", func() bool { return stateOf(pid) == 'T' })
				syscall.Kill(pid, syscall.SIGCONT)
				await(t, "it sleeps again", func() bool { return stateOf(pid) == 'S' })
			}
			s.examine(t, "poll", "limited", "sleeper")
			for _, name := range []string{"poll", "limited"} {
				if words := s.Words(s.of(t, name)); !strings.HasPrefix(words, "waits for descriptors (") ||
					s.of(t, name).Timed != (name == "limited") {
					t.Errorf("%s: %q", name, words)
				}
			}
			if w := s.of(t, "sleeper"); w.Mode != waits.Time {
				t.Errorf("sleeper: %q", s.Words(w))
			}
		})
	}
}

// TestWaitsOfMany: what 500 processes cost that wait at one pipe.
func TestWaitsOfMany(t *testing.T) {
	s := situate(t, "many", "500")
	s.examine(t)
	if len(s.Roots) != 1 || len(s.Roots[0].Behind) != 500 || s.Roots[0].PID != s.pids["sleeper"] {
		t.Errorf("roots %+v, want the sleeper with 500 behind it", s.Roots)
	}
}

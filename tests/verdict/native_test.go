//go:build linux

package verdict

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Programs in C that are one file.
var nativeRows = []row{
	// That hang.
	{name: "C two locks in two orders", needs: gcc, files: one("abba.c"), argv: []string{"./abba"}, ready: "ready",
		is: truth{state: hangs, kinds: deadlock, culprit: "abba", function: "deposit|withdraw", waits: mutex}},
	{name: "C two locks in two orders under sh", needs: gcc, files: one("abba.c"), ready: "ready",
		argv: []string{"sh", "-c", "./abba; true"},
		is:   truth{state: hangs, kinds: deadlock, culprit: "^./abba", function: "deposit|withdraw", waits: mutex}},
	{name: "C musl two locks", needs: []string{"musl-gcc"}, files: one("abba.c"), ready: "ready",
		argv: []string{"sh", "-c", "musl-gcc -g -O1 -static -o musl abba.c && exec ./musl"},
		is:   truth{state: hangs, culprit: "^./musl", function: "deposit|withdraw"}},
	{name: "C static two locks", needs: gcc, files: one("abba.c"), ready: "ready",
		argv: []string{"sh", "-c", "gcc -g -O1 -static -pthread -o fixed abba.c && exec ./fixed"},
		is:   truth{state: hangs, kinds: deadlock, culprit: "^./fixed", function: "deposit|withdraw", waits: mutex}},
	{name: "C takes its own lock", needs: gcc, files: one("self.c"), argv: []string{"./self"}, ready: "ready",
		is: truth{state: hangs, kinds: deadlock, culprit: "self", function: "refresh", waits: mutex}},
	{name: "C lock of a thread that ended", needs: gcc, files: one("exited.c"), argv: []string{"./exited"},
		ready: "ready",
		is:    truth{state: hangs, culprit: "exited", function: "append", waits: mutex}},
	{name: "C two readers want to write", needs: gcc, files: one("upgrade.c"), argv: []string{"./upgrade"},
		ready: "ready",
		is:    truth{state: hangs, culprit: "upgrade", function: "upgrade", waits: []string{"lock"}}},
	{name: "C wakeup lost beside an idle pool", needs: gcc, files: one("wakeup.c"), argv: []string{"./wakeup"},
		ready: "ready",
		is: truth{state: hangs, culprit: "wakeup", function: "await_result",
			waits: []string{"condition"}}},
	{name: "C semaphore that nobody posts", needs: gcc, files: one("semaphore.c"), argv: []string{"./semaphore"},
		ready: "ready",
		is:    truth{state: hangs, culprit: "semaphore", function: "take_slot", waits: []string{"semaphore"}}},
	{name: "C barrier that one never reaches", needs: gcc, files: one("barrier.c"), argv: []string{"./barrier"},
		ready: "ready",
		is:    truth{state: hangs, culprit: "barrier", function: "step", waits: []string{"barrier"}}},
	{name: "C reads its own pipe", needs: gcc, files: one("ownpipe.c"), argv: []string{"./ownpipe"}, ready: "ready",
		is: truth{state: hangs, culprit: "ownpipe", function: "drain", waits: []string{"pipe-data"}}},
	{name: "C signal handler takes a lock that is taken", needs: gcc, files: one("handler.c"),
		argv:  []string{"./handler"},
		ready: "ready", is: truth{state: hangs, kinds: deadlock, culprit: "handler", function: "on_signal",
			waits: mutex}},
	{name: "C lock inherited over fork", needs: gcc, files: one("forked.c"), argv: []string{"./forked"},
		ready: "ready",
		is:    truth{state: hangs, culprit: "forked", marked: true, function: "child_main", waits: mutex}},
	{name: "C child writes, parent waits", needs: gcc, files: one("fullpipe.c"), argv: []string{"./fullpipe"},
		ready: "ready", is: truth{state: hangs, culprit: "fullpipe", function: "report|collect",
			waits: []string{"pipe-room", "child"}}},
	{name: "C two processes two shared locks", needs: gcc, files: one("shared.c"), argv: []string{"./shared"},
		ready: "ready", is: truth{state: hangs, kinds: deadlock, culprit: "shared", function: "take", waits: mutex}},
	{name: "C both sides of two pipes write", needs: gcc, files: one("duplex.c"), argv: []string{"./duplex"},
		ready: "ready", is: truth{state: hangs, culprit: "duplex", function: "send_all",
			waits: []string{"pipe-room"}}},
	{name: "C both ends of a socket pair read", needs: gcc, files: one("protocol.c"), argv: []string{"./protocol"},
		ready: "ready", is: truth{state: hangs, culprit: "protocol", function: "client|server",
			waits: []string{"socket-data"}}},
	{name: "C FIFO that nobody opens", needs: gcc, files: one("fifo.c"), argv: []string{"./fifo"}, ready: "ready",
		is: truth{state: hangs, culprit: "fifo", function: "open_control",
			waits: []string{"open"}}},
	{name: "C two processes two locked files", needs: gcc, files: one("flocks.c"), argv: []string{"./flocks"},
		ready: "ready", is: truth{state: hangs, kinds: deadlock, culprit: "flocks", function: "update",
			waits: []string{"file-lock"}}},
	{name: "C spins for a flag", needs: gcc, files: one("spin.c"), argv: []string{"./spin"},
		ready: "ready", cpu: true,
		is: truth{state: spins, culprit: "spin", function: "progress"}},
	{name: "C holder of a lock reads a socket", needs: gcc, files: one("holder.c"), argv: []string{"./holder"},
		ready: "ready",
		is:    truth{state: hangs, culprit: "holder", function: "fetch", waits: []string{"socket-data"}}},
	{name: "C message queue without a server", needs: append(gcc, "ipcrm"), files: one("queue.c"),
		argv: []string{"./queue"}, ready: "ready", then: removeQueue,
		is: truth{state: hangs, culprit: "queue", function: "request", waits: []string{"queue"}}},
	{name: "C vfork child that never executes", needs: gcc, files: one("vforks.c"), argv: []string{"./vforks"},
		ready: "ready", is: truth{state: hangs, culprit: "vforks", function: "main", waits: []string{"signal"}}},
	{name: "C stopped by a signal under sh", needs: gcc, files: one("tick.c"), ready: "ready",
		argv: []string{"sh", "-c", "./tick; true"}, then: stopTick,
		is: truth{state: hangs, kinds: []string{"stopped"}, culprit: "^./tick", function: "main"}},

	// That are healthy.
	{name: "healthy C child computes", needs: gcc, files: one("children.c"), argv: []string{"./children"},
		ready: "ready",
		cpu:   true, is: truth{state: healthy, culprit: "children", function: "hash|fill|main"}},
	{name: "healthy C pipe of SIGCHLD, child works", needs: gcc, files: one("selfpipe.c"),
		argv:  []string{"./selfpipe"},
		ready: "ready", is: truth{state: healthy}},
	{name: "healthy C pipe of SIGCHLD, child sleeps", needs: gcc, files: one("selfpipe.c"),
		argv: []string{"./selfpipe", "sleep", "45"}, ready: "ready", is: truth{state: healthy}},
	{name: "healthy C semaphore that SIGALRM posts", needs: gcc, files: one("alarm.c"), argv: []string{"./alarm"},
		ready: "ready", is: truth{state: healthy}},
	{name: "healthy C short sleeps", needs: gcc, files: one("tick.c"), argv: []string{"./tick"}, ready: "ready",
		is: truth{state: healthy}},
	{name: "healthy C batch behind a limit", needs: gcc, files: one("steps.c"), argv: []string{"./steps"},
		ready: "ready",
		is:    truth{state: healthy}},
	{name: "healthy C waits for SIGHUP", needs: gcc, files: one("reload.c"), argv: []string{"./reload"},
		ready: "ready",
		is:    truth{state: healthy}},
	{name: "healthy C prefork server", needs: gcc, files: one("prefork.c"), argv: []string{"./prefork"},
		ready: "ready",
		is:    truth{state: healthy}},
	{name: "healthy C workers share a pipe", needs: gcc, files: one("jobpipe.c"), argv: []string{"./jobpipe"},
		ready: "ready", is: truth{state: healthy}},
	{name: "healthy C idle pool", needs: gcc, files: one("pool.c"), argv: []string{"./pool"}, ready: "ready",
		is: truth{state: healthy}},
	{name: "healthy C locks that change hands", needs: gcc, files: one("pingpong.c"), argv: []string{"./pingpong"},
		ready: "ready", is: truth{state: healthy}},
	{name: "healthy C timer of 40 seconds", needs: gcc, files: one("timer.c"), argv: []string{"./timer"},
		ready: "ready",
		is:    truth{state: healthy}},
	{name: "healthy C token that two processes pass", needs: gcc, files: one("turns.c"), argv: []string{"./turns"},
		ready: "ready",
		is:    truth{state: healthy}},
	{name: "healthy C condition with a time limit", needs: gcc, files: one("limit.c"), argv: []string{"./limit"},
		ready: "ready",
		is:    truth{state: healthy}},
	{name: "healthy C semaphore that a child posts", needs: gcc, files: one("posts.c"), argv: []string{"./posts"},
		ready: "ready",
		is:    truth{state: healthy}},
	{name: "healthy C sigsuspend for a child that sleeps", needs: gcc, files: one("suspend.c"),
		argv: []string{"./suspend"}, ready: "ready",
		is: truth{state: healthy}},
}

var (
	gcc      = []string{"gcc"}
	deadlock = []string{"deadlock"}
	mutex    = []string{"lock"}
)

func one(name string) []string { return []string{name} }

// removeQueue has the queue of queue.c removed with the test: it would outlive the program.
func removeQueue(t testing.TB, dir string) int {
	id, err := os.ReadFile(filepath.Join(dir, "queue.id"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { exec.Command("ipcrm", "-q", string(id)).Run() })
	return 0
}

// stopTick stops the process whose program is tick.
func stopTick(t testing.TB, dir string) int {
	for _, pid := range processesIn(dir) {
		if exe, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"); filepath.Base(exe) == "tick" {
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			return 0
		}
	}
	t.Fatal("tick does not run")
	return 0
}

// processesIn lists the processes that work in a folder.
func processesIn(dir string) []int {
	var found []int
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		if cwd, err := os.Readlink(p + "/cwd"); err == nil && cwd == dir {
			pid, _ := strconv.Atoi(filepath.Base(p))
			found = append(found, pid)
		}
	}
	return found
}

//go:build linux

package manners

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/tracer"
	"golang.org/x/sys/unix"
)

// heldBound is far more than a thread may be stopped, or waited for, where another process is in an exec that does not
// end: that takes two periods of an alarm.
const heldBound = 100 * time.Millisecond

// heldExec starts a process that computes in its main thread, while another thread is in an exec which lasts until the
// test ends: somebody who watches the file system does not say whether the interpreter of the script may be opened.
func heldExec(t *testing.T) *target {
	t.Helper()
	dir := t.TempDir()
	interpreter, script := filepath.Join(dir, "interpreter"), filepath.Join(dir, "script")
	copyFile(t, "/bin/sleep", interpreter, 0o755)
	if err := os.WriteFile(script, []byte("#!"+interpreter+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	watcher, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY)
	if err != nil {
		t.Skipf("nobody can be held in an exec here: fanotify_init: %v", err)
	}
	t.Cleanup(func() { unix.Close(watcher) }) // whoever waits for an answer goes on
	err = unix.FanotifyMark(watcher, unix.FAN_MARK_ADD, unix.FAN_OPEN_EXEC_PERM, unix.AT_FDCWD, interpreter)
	if err != nil {
		t.Skipf("nobody can be held in an exec here: fanotify_mark: %v", err)
	}
	c := start(t, "heldexec", script)
	unix.Kill(c.pid, unix.SIGUSR1)
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if inExec(c.pid) {
			return c
		}
		if time.Now().After(end) {
			t.Fatalf("no thread of the target is in execve: %s", threadStates(c.pid))
		}
	}
}

// inExec reports whether a thread of pid waits in execve.
func inExec(pid int) bool {
	for _, tid := range threadIDs(pid) {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/syscall")
		number, _, _ := strings.Cut(string(b), " ")
		if number == strconv.Itoa(unix.SYS_EXECVE) {
			return true
		}
	}
	return false
}

// TestHeldExecDump has a dump of such a process end soon, and say why it shows nothing.
func TestHeldExecDump(t *testing.T) {
	c := heldExec(t)
	p := open(t, c.pid)
	begun := time.Now()
	_, err := p.Snapshot(t.Context(), tracer.StopOptions{})
	took := time.Since(begun)
	var executing *tracer.ExecutingError
	if !errors.As(err, &executing) || executing.PID != c.pid {
		t.Errorf("error %v, want that %d is in execve", err, c.pid)
	}
	if took > time.Second {
		t.Errorf("it took %v", took)
	}
	if !inExec(c.pid) {
		t.Error("the exec has ended meanwhile")
	}
	checkFree(t, c.pid)
}

// TestHeldExecBystander samples another process together with such a one: it is not stopped while the kernel has us
// wait for the exec, and what it does is seen.
func TestHeldExecBystander(t *testing.T) {
	held, bystander := heldExec(t), spinning(t)
	l := tracer.NewSampler(tracer.SamplerOptions{})
	defer l.Close()
	one, other := open(t, bystander.pid), open(t, held.pid)
	var tables []*maps.Table
	for _, p := range []*tracer.Process{one, other} {
		table, err := p.Maps()
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, table)
	}
	w, err := one.Watch(bystander.pid)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	v, err := other.Watch(held.pid)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for range rounds(20, 200) {
		var bad error
		var pause, took time.Duration
		err := l.Do(func() {
			var first, second tracer.Copy
			if bad = l.Seize(w, &first, tables[0]); bad != nil {
				return
			}
			begun := time.Now()
			err := l.Seize(v, &second, tables[1])
			took = time.Since(begun)
			var executing *tracer.ExecutingError
			if !errors.As(err, &executing) {
				bad = errors.Join(errors.New("the process in execve was seized"), err)
			}
			if err := l.Interrupt(&first); err != nil {
				bad = errors.Join(bad, err)
				return
			}
			c, err := l.Collect(time.Second)
			if c == nil || err != nil {
				bad = errors.Join(bad, errors.New("the bystander was not collected"), err)
				return
			}
			pause = c.Pause
		})
		if err = errors.Join(err, bad); err != nil {
			t.Fatal(err)
		}
		if took > heldBound || pause > heldBound {
			t.Errorf("the other was tried for %v, and the bystander stopped for %v", took, pause)
		}
	}
	checkFree(t, bystander.pid)
	checkFree(t, held.pid)
}

// TestHeldExecCommand has the program record both: the recording has the bystander's samples, and says what became of
// the other. A dump of that says why there is none.
func TestHeldExecCommand(t *testing.T) {
	held, bystander := heldExec(t), spinning(t)
	r := fpstackOn(t, bystander.pid, "record", "-d", "2s", "-f", "folded", "-p", itoa(held.pid))
	var computed time.Duration
	for line := range strings.Lines(r.out) {
		at := strings.LastIndexByte(line, ' ')
		if n, err := strconv.Atoi(strings.TrimSpace(line[at+1:])); err == nil && strings.Contains(line, ";grind ") {
			computed += time.Duration(n)
		}
	}
	if r.status != 0 || computed < time.Second {
		t.Errorf("status %d, the bystander was seen for %v of two seconds\n%s\n%s", r.status, computed, r.out, r.err)
	}
	if !strings.Contains(r.err, "is in execve") {
		t.Errorf("nothing is said of the process in execve:\n%s", r.err)
	}
	r = fpstackOn(t, held.pid)
	said := strings.Contains(r.out+r.err, "is in execve")
	if !said || !strings.Contains(r.out, " execute ") || r.took > returnBound {
		t.Errorf("dump: status %d after %v\n%s\n%s", r.status, r.took, r.out, r.err)
	}
}

// spinning starts a process of one thread, which computes. It ends when its standard input does.
func spinning(t *testing.T) *target {
	t.Helper()
	cmd := exec.Command(program(t, "spin"), "3", "0")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	c := launch(t, cmd)
	c.pid = c.cmd.Process.Pid
	c.awaitReady(t)
	return c
}

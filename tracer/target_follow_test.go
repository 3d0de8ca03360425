//go:build linux

package tracer

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"golang.org/x/sys/unix"
)

func TestCPUTime(t *testing.T) {
	c := start(t, "threads", 1, 1, 2)
	p := openTarget(t, c.pid())
	before, err := p.CPUTime()
	if err != nil {
		t.Fatal(err)
	}
	after := before
	for end := time.Now().Add(patience); after < before+50*time.Millisecond && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
		if after, err = p.CPUTime(); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile("/proc/" + itoa(c.pid()) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	st, _ := procfs.ParseStat(b)
	ticks := time.Duration(st.CPU) * (time.Second / procfs.TicksPerSecond)
	if after < before+50*time.Millisecond || ticks < after-20*time.Millisecond {
		t.Errorf("CPU time %v, then %v; by ticks %v", before, after, ticks)
	}
	c.Process.Kill()
	waitState(t, c.pid(), 'Z')
	last, err := p.CPUTime()
	if err != nil || last < after {
		t.Errorf("ended, not reaped: %v, %v, want at least %v", last, err, after)
	}
	c.Wait()
	if _, err := p.CPUTime(); !errors.Is(err, ErrNoProcess) {
		t.Errorf("reaped: got %v, want ErrNoProcess", err)
	}
}

// TestCPUTimeOfOtherUser needs no permission.
func TestCPUTimeOfOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: another user is needed")
	}
	c := start(t, "threads", 1, 1)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{"TRACER_TEST_HELPER=cputime", "TRACER_TEST_PID=" + itoa(c.pid())}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if n, err2 := strconv.Atoi(strings.TrimSpace(string(out))); err != nil || err2 != nil || n <= 0 {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestChildren(t *testing.T) {
	c, _ := startWaits(t, "family")
	line, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var want []int
	for word := range strings.FieldsSeq(line) {
		pid, _ := strconv.Atoi(word)
		want = append(want, pid)
		t.Cleanup(func() { unix.Kill(pid, unix.SIGKILL) })
	}
	p := openTarget(t, c.pid())
	for name, list := range map[string]func() ([]int, error){"by thread": p.Children, "by search": p.searchChildren,
		"by id alone": func() ([]int, error) { return ChildrenOf(c.pid()) }} {
		got, err := list()
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
	}
	c.Process.Kill()
	c.Wait()
	if got, err := p.Children(); !errors.Is(err, ErrNoProcess) {
		t.Errorf("ended: got %v, %v", got, err)
	}
	if got, err := ChildrenOf(c.pid()); err == nil {
		t.Errorf("ended, by id alone: got %v and no error", got)
	}
}

func TestLastID(t *testing.T) {
	c := start(t, "threads", 1, 1)
	ids, err := OpenIDs()
	if errors.Is(err, ErrNoLastID) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer ids.Close()
	id, err := ids.Last()
	if err != nil || id <= 0 {
		t.Fatalf("got %d, %v", id, err)
	}
	if c.pid() > id { // the ids may have begun at 1 again since
		t.Logf("last id %d, a process has %d", id, c.pid())
	}
	start(t, "threads", 1, 1)
	if after, err := ids.Last(); err != nil || after == id {
		t.Errorf("after a process was made: got %d, %v, before %d", after, err, id)
	}
	plain := filepath.Join(t.TempDir(), "loadavg")
	if err := os.WriteFile(plain, []byte("0.31 0.22 0.18 2/497 18320\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openIDs(plain); !errors.Is(err, ErrNoLastID) {
		t.Errorf("a file that is not the kernel's: got %v", err)
	}
}

func TestReplaced(t *testing.T) {
	cmd := exec.Command("sh", "-c", "printf r; read x; exec sleep 100")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	c := launch(t, cmd)
	p := openTarget(t, c.pid())
	l := openSampler(t, SamplerOptions{})
	w := openWatch(t, p, c.pid())
	var got Copy
	table := mapsOf(t, p)
	waitState(t, c.pid(), 'S')
	if p.Replaced() {
		t.Error("replaced before the exec")
	}
	in.Write([]byte("\n"))
	eventually(t, "it is replaced", p.Replaced)
	waitState(t, c.pid(), 'S')
	l.Do(func() { err = l.Stop(w, &got, table) })
	if !errors.Is(err, ErrExec) {
		t.Errorf("stop after the exec: got %v, want ErrExec", err)
	}
	checkFree(t, c.pid())
	if err := p.Reopen(); err != nil || p.Replaced() {
		t.Fatalf("reopened: %v, replaced %v", err, p.Replaced())
	}
	stopOne(t, l, w, &got, mapsOf(t, p))
	if pc, _ := got.regs.PC(); got.Stale || mapsOf(t, p).Find(pc) == nil {
		t.Errorf("pc %#x, stale %v", pc, got.Stale)
	}
	c.Process.Kill()
	c.Wait()
	if !p.Replaced() {
		t.Error("ended: not replaced")
	}
	if err := p.Reopen(); !errors.Is(err, ErrNoProcess) {
		t.Errorf("reopened after the end: %v", err)
	}
}

// TestReplacedAfterVfork opens a child that has the memory of its parent: the memory lives
// on when the child executes another program.
func TestReplacedAfterVfork(t *testing.T) {
	c, in := startWaits(t, "vfork")
	line, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Kill(pid, unix.SIGKILL) })
	p := openTarget(t, pid)
	if p.Replaced() {
		t.Error("replaced before the exec")
	}
	in.Write([]byte("x"))
	eventually(t, "it is replaced", p.Replaced)
	if p.memory.Load().replaced(pageSize) {
		t.Error("the memory of the parent is gone: this test shows nothing")
	}
	if err := p.Reopen(); err != nil || p.Replaced() {
		t.Errorf("reopened: %v, replaced %v", err, p.Replaced())
	}
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatalf("it does not come that %s", what)
}

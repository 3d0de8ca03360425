//go:build linux

package tracer

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
)

// The clock of a process that has ended is there until somebody waits for it, and what its children
// took is among what it reaped.
func TestClockAndReaped(t *testing.T) {
	const count = `i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done`
	c := exec.Command("sh", "-c", "echo; sh -c '"+count+"'; echo; read x; "+count)
	in, _ := c.StdinPipe()
	out, _ := c.StdoutPipe()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	byte1 := make([]byte, 1)
	if _, err := out.Read(byte1); err != nil {
		t.Fatal(err)
	}
	p, err := Open(c.Process.Pid, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	before, parent, err := p.Reaped()
	if err != nil || parent != os.Getpid() {
		t.Fatalf("reaped %v, parent %d, %v, want parent %d", before, parent, err, os.Getpid())
	}
	if _, err := out.Read(byte1); err != nil {
		t.Fatal(err)
	}
	after, _, err := p.Reaped()
	if err != nil || after <= before {
		t.Errorf("a child was reaped: %v before, %v after, %v", before, after, err)
	}
	first, err := p.Clock()
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	for state := byte(0); state != 'Z'; time.Sleep(time.Millisecond) {
		b, err := procfile.At(p.dir, "stat", nil, 4096)
		if err != nil {
			t.Fatal(err)
		}
		state, _ = procfs.ParseState(b)
	}
	last, err := p.Clock()
	if err != nil || last <= first {
		t.Errorf("it worked and ended: clock %v, then %v, %v", first, last, err)
	}
	c.Wait()
	usage := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	if d := usage - last - after; d < -30*time.Millisecond || d > 30*time.Millisecond {
		t.Errorf("clock %v and reaped %v, but the kernel accounts %v", last, after, usage)
	}
	if _, err := p.Clock(); !errors.Is(err, ErrNoProcess) {
		t.Errorf("clock of what is gone: %v, want ErrNoProcess", err)
	}
}

func TestKin(t *testing.T) {
	pid, parent, err := Kin(os.Getpid())
	if err != nil || pid != os.Getpid() || parent != os.Getppid() {
		t.Errorf("got %d, %d, %v, want %d, %d", pid, parent, err, os.Getpid(), os.Getppid())
	}
	if _, _, err := Kin(1 << 30); !procfile.Gone(err) {
		t.Errorf("no such thread: %v", err)
	}
}

//go:build linux

package cmd

import (
	"context"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/push/perprocess"
)

// TestRenote: a shell becomes what it was told to run, whoever else asks meanwhile who it is; what has another's id
// does not.
func TestRenote(t *testing.T) {
	c := exec.Command("sh", "-c", "read line; exec sleep 60")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Skipf("no shell: %v", err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	pid := c.Process.Pid
	p := &pushing{outlets: &outlets{}, who: map[procfs.Identity]perprocess.Identity{}}
	p.note(pid)
	start, _ := procfs.Start("/proc", pid)
	process := procfs.Identity{PID: pid, Start: start}
	shell := p.identity(process).Exe
	another := procfs.Identity{PID: 1, Start: 1 << 60} // its id is that of one that began at another time
	p.who[another] = perprocess.Identity{}
	ctx, cancel := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	beside.Go(func() { p.renote(ctx) })
	in.Write([]byte("\n"))
	for end := time.Now().Add(20 * time.Second); p.identity(process).Exe == shell && time.Now().Before(end); {
		p.note(pid + 1<<24) // nobody
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	beside.Wait()
	if exe := p.identity(process).Exe; exe == shell || filepath.Base(shell) == "sleep" {
		t.Errorf("the shell was %q, and is %q", shell, exe)
	}
	if id := p.identity(another); id.Exe != "" {
		t.Errorf("one whose id is another's is %q", id.Exe)
	}
}

//go:build linux

package cmd

import (
	"context"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
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
	p := &pushing{outlets: &outlets{}, who: map[int]noted{}}
	p.note(pid)
	shell := p.identity(pid).Exe
	const another = 1 // its id is that of one that began at another time
	p.who[another] = noted{start: 1 << 60, starts: true}
	ctx, cancel := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	beside.Go(func() { p.renote(ctx) })
	in.Write([]byte("\n"))
	for end := time.Now().Add(20 * time.Second); p.identity(pid).Exe == shell && time.Now().Before(end); {
		p.note(pid + 1<<24) // nobody
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	beside.Wait()
	if exe := p.identity(pid).Exe; exe == shell || filepath.Base(shell) == "sleep" {
		t.Errorf("the shell was %q, and is %q", shell, exe)
	}
	if id := p.identity(another); id.Exe != "" {
		t.Errorf("one whose id is another's is %q", id.Exe)
	}
}

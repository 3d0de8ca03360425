package perprocess

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fpstack/fpstack/procfs"
)

// TestRenew: a shell becomes what it was told to run, whoever else asks meanwhile who it is; what has another's id
// does not.
func TestRenew(t *testing.T) {
	if _, lives := procfs.Start("/proc", os.Getpid()); !lives {
		t.Skip("no /proc of Linux here")
	}
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
	n := NewNotebook("/proc")
	n.Note(pid)
	start, _ := procfs.Start("/proc", pid)
	process := procfs.Identity{PID: pid, Start: start}
	shell := n.Identity(process).Exe
	another := procfs.Identity{PID: 1, Start: 1 << 60} // its id is that of one that began at another time
	n.who[another] = Identity{}
	ctx, cancel := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	beside.Go(func() { n.Renew(ctx) })
	in.Write([]byte("\n"))
	for end := time.Now().Add(20 * time.Second); n.Identity(process).Exe == shell && time.Now().Before(end); {
		n.Note(pid + 1<<24) // nobody
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	beside.Wait()
	if exe := n.Identity(process).Exe; exe == shell || filepath.Base(shell) == "sleep" {
		t.Errorf("the shell was %q, and is %q", shell, exe)
	}
	if id := n.Identity(another); id.Exe != "" {
		t.Errorf("one whose id is another's is %q", id.Exe)
	}
}

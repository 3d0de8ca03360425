//go:build linux

package tracer

import (
	"errors"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A wait elsewhere in our process can take a stop of a child of ours. The sample then ends within a
// bound, and the child goes on.
func TestStopThatAnotherWaitTook(t *testing.T) {
	c := exec.Command("sleep", "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		c.Process.Kill()
		<-done
	})
	pid := c.Process.Pid
	p, err := Open(pid, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.Watch(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	go func() { // takes every stop of the child, until it ends
		defer close(done)
		for {
			var status unix.WaitStatus
			if _, err := unix.Wait4(pid, &status, unix.WALL, nil); err != nil && !errors.Is(err, unix.EINTR) ||
				err == nil && !status.Stopped() {
				return
			}
		}
	}()
	l := NewSampler(SamplerOptions{})
	defer l.Close()
	var copied Copy
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		began := time.Now()
		l.Do(func() { err = l.Stop(w, &copied, table) })
		if took := time.Since(began); took > 5*time.Second {
			t.Fatalf("a sample took %v", took)
		}
		var late *NotStoppedError
		if errors.As(err, &late) {
			st, err := w.state()
			if err != nil || st == 't' {
				t.Errorf("the child is in state %c, %v", st, err)
			}
			return // it was taken once, and we came back
		}
	}
	t.Skip("the other wait never came first")
}

//go:build linux

package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// TestWrites: a write by anybody to a pipe without a name is noticed, and nothing else is.
func TestWrites(t *testing.T) {
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer out.Close()
	path := fmt.Sprintf("/proc/self/fd/%d", out.Fd())
	w := WatchWrites([]string{path, "/proc/self/exe", "/no/such/file"})
	if w == nil {
		t.Skip("this kernel notices no writes to pipes without a name")
	}
	defer w.Close()
	run := func(script string) {
		c := exec.Command("sh", "-c", script)
		c.Stdout = out
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
	}
	count := func() uint64 {
		n, ok := w.Count(path)
		if !ok {
			t.Error("it is not watched")
		}
		return n
	}
	before := count()
	run("echo elsewhere >/dev/null; true")
	if n := count(); n != before {
		t.Errorf("%d writes that were none", n-before)
	}
	run("echo x")
	if n := count(); n <= before {
		t.Error("a write was not noticed")
	}
	if _, ok := w.Count("/proc/self/exe"); ok {
		t.Error("a file is watched")
	}
	var none *Writes
	if _, ok := none.Count(path); ok {
		t.Error("nobody watches")
	}
}

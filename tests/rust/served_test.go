//go:build linux && (amd64 || arm64)

package rust

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/harness"
)

// served starts the server of axum, and asks it for those paths, one after the other.
func served(t *testing.T, scheduler string, paths ...string) int {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(built, "served"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("a server of axum is not here: scripts/build-rust --all makes it")
	}
	p := harness.Program{Argv: []string{path, scheduler}, Ready: "ready"}
	pid := p.Begin(t)
	said, err := os.ReadFile(filepath.Join(p.Dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + strings.Fields(string(said))[1]
	for _, path := range paths {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, address)
	}
	return pid
}

// handlers are what a dump tells of the tasks in handlers of the server, when there are n.
func handlers(t *testing.T, pid, n int) (out []string) {
	t.Helper()
	lines := marksOf(t, "axum/main.rs")
	for range 100 {
		d := dump(t, pid)
		out = nil
		for _, s := range told(d, lines) {
			if !strings.HasPrefix(s, ": ") { // a connection that has no handler yet
				out = append(out, s)
			}
		}
		if len(out) == n && !runs(d) {
			return out
		}
		time.Sleep(50 * time.Millisecond)
	}
	return out
}

// runs reports whether a task runs, or is ready to.
func runs(d *profile.Dump) bool {
	for i := range d.Fibers {
		if d.Fibers[i].Wait == profile.FiberRuns {
			return true
		}
	}
	return false
}

// TestServed: requests that a server of axum never answers are shown with the lines of their handlers, and hang blames
// these though all threads wait for connections.
func TestServed(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		paths   []string
		want    []string
		verdict []string
	}{
		"each other": {[]string{"/deposit", "/withdraw"}, []string{
			"deposit 1: awaits a Mutex, held by withdraw 1, withdraw 2 <- withdraw 1, withdraw 2",
			"withdraw 1, withdraw 2: awaits a Mutex, held by deposit 1 <- deposit 1",
		}, []string{"deadlock: 2 async tasks wait for each other, in ", "deposit 1", "withdraw 1"}},
		"itself": {[]string{"/checkout"}, []string{
			"checkout 1: awaits a sender of a oneshot channel, held by itself <- checkout 1",
		}, []string{"waits for itself, in ", "checkout 1"}},
	} {
		for _, scheduler := range []string{"current", "multi"} {
			t.Run(name+" "+scheduler, func(t *testing.T) {
				t.Parallel()
				pid := served(t, scheduler, row.paths...)
				got := handlers(t, pid, len(row.want))
				for _, want := range row.want {
					if count(got, want) != 1 {
						t.Errorf("no %q in %q", want, got)
					}
				}
				v := verdict(t, pid)
				lines := marksOf(t, "axum/main.rs")
				for _, want := range row.verdict {
					if line := lines[want]; line != 0 {
						want = fmt.Sprintf("(main.rs:%d)", line)
					}
					if v.Kind != "deadlock" || !strings.Contains(v.Sentence, want) {
						t.Errorf("%s: %q, want %q in it", v.Kind, v.Sentence, want)
					}
				}
			})
		}
	}
}

//go:build linux

package hang

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

// watch runs fpstack hang --watch on a process.
func watch(t *testing.T, pid int, more ...string) (out string, status int) {
	t.Helper()
	argv := append([]string{"hang", "--watch", "-p", strconv.Itoa(pid)}, more...)
	b, err := exec.Command(fpstack, argv...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		status = exit.ExitCode()
	}
	return string(b), status
}

// TestWatch: nothing is sampled before a limit is reached, and which it was is said. A process that writes is not
// silent, one that ends ends the watch.
func TestWatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		options      []string
		least        time.Duration // before the first sample
		kind         string        // of the trigger
		status       int
	}{
		{"idle", "echo ready; exec sleep 500", []string{"--idle", "2"}, 2 * time.Second, "idle", unknown},
		{"silent", "echo ready; sleep 2; echo more; sleep 500", []string{"--idle-output", "3"}, 4 * time.Second,
			"idle-output", unknown},
		{"deadline", "echo ready; while :; do echo more; sleep 0.1; done", []string{"--idle-output", "20", "--deadline",
			"3"}, 3 * time.Second, "deadline", moving},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			harness.Need(t, "sh")
			j := job{argv: []string{"sh", "-c", c.script}, ready: "ready"}
			pid, began := j.begin(t), time.Now()
			out, status := watch(t, pid, append(c.options, "-f", "json")...)
			var doc struct {
				Trigger struct{ Kind string }
				Moments []struct{ Time time.Time }
			}
			if err := json.Unmarshal([]byte(out), &doc); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if doc.Trigger.Kind != c.kind || status != c.status || len(doc.Moments) == 0 {
				t.Fatalf("got trigger %q, status %d, want %q, %d\n%s", doc.Trigger.Kind, status, c.kind, c.status, out)
			}
			if after := doc.Moments[0].Time.Sub(began); after < c.least-time.Second {
				t.Errorf("sampled after %v, want %v", after, c.least)
			}
		})
	}
	t.Run("ended", func(t *testing.T) {
		t.Parallel()
		j := job{argv: []string{"sh", "-c", "echo ready; sleep 2"}, ready: "ready"}
		if out, status := watch(t, j.begin(t), "--idle", "500"); status != 2 || !strings.Contains(out, "has ended") {
			t.Errorf("status %d:\n%s", status, out)
		}
	})
}

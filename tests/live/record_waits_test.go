//go:build linux

package live

import (
	"strings"
	"testing"
)

// TestRecordSaysItWaits: a command that goes on when its recording is over is named, and what fpstack then waits for;
// one that ends with its recording, or whose recorder is to be quiet, is not.
func TestRecordSaysItWaits(t *testing.T) {
	t.Parallel()
	const line = "still runs: waiting for it to end"
	for _, c := range []struct {
		args []string
		want bool
	}{
		{[]string{"record", "-d", "300ms", "-o", "-", "sh", "-c", "sleep 3; exit 7"}, true},
		{[]string{"record", "-q", "-d", "300ms", "-o", "-", "sh", "-c", "sleep 3; exit 7"}, false},
		{[]string{"record", "-d", "1h", "-o", "-", "sh", "-c", "sleep 1; exit 7"}, false},
	} {
		o := show(t, c.args...)
		if o.status != 7 {
			t.Errorf("%q: status %d, want that of the command", c.args, o.status)
		}
		if strings.Contains(o.stderr, line) != c.want {
			t.Errorf("%q: want a line that it waits: %v\n%s", c.args, c.want, o.stderr)
		}
	}
}

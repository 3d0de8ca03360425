//go:build linux

package cores

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/fpstack/fpstack/hang"
)

// TestNoTime: where less time is left than the end of a core takes none is begun, and each process says so.
func TestNoTime(t *testing.T) {
	for _, left := range []time.Duration{-time.Second, 0, forEnd} {
		c := &hang.Case{}
		Keep(context.Background(), c, 0, []int{os.Getpid(), os.Getppid()}, &Options{Until: time.Now().Add(left)})
		if len(c.Cores) != 2 {
			t.Fatalf("%s left: %d cores, want a line for each of two", left, len(c.Cores))
		}
		for i := range c.Cores {
			if one := &c.Cores[i]; one.File != "" || one.Problem != "no core: no time was left" {
				t.Errorf("%s left: %+v", left, one)
			}
		}
	}
}

package sampler

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// TestKernelStacks puts where in the kernel a thread waits behind the call that it waits in, of each sleep by itself,
// and of no thread that runs.
func TestKernelStacks(t *testing.T) {
	waits := func(now time.Duration) view {
		v := parked(now)
		v.kernel = []string{"schedule+0x1/0x2", "pipe_read+0x1/0x2"}
		if now > 5*time.Second { // it woke, and sleeps elsewhere
			v.switches, v.kernel = 2, []string{"schedule+0x1/0x2", "sock_read+0x1/0x2 [net]"}
		}
		return v
	}
	for _, tt := range []struct {
		name            string
		wanted, refused bool
		want            []string
	}{
		{"wanted", true, false, []string{"read;pipe_read;schedule", "read;sock_read;schedule"}},
		{"not wanted", false, false, []string{"read"}},
		{"refused", true, true, []string{"read"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(10 * time.Second)
			f.noKernel = tt.refused
			p := f.process(1)
			p.threads[1], p.threads[2] = waits, busy
			got, s, _ := drawn(t, f, Options{Rate: 99, KernelStacks: tt.wanted})
			wall := map[string]time.Duration{}
			for i, sample := range got.Samples {
				var in []string
				for n := sample.Stack; n != 0; n = got.Tree.Parent(n) {
					if frame := got.Frames[got.Tree.Frame(n)]; frame.Kind == profile.Kernel {
						in = append(in, frame.Func)
					}
				}
				slices.Reverse(in)
				if in := strings.Join(in, ";"); got.Tasks[sample.Task].TID == 1 {
					wall[in] += time.Duration(got.Value(i)[1])
				} else if in != "" {
					t.Errorf("a thread that runs waits in %s", in)
				}
			}
			for _, in := range tt.want {
				if part := 10 * time.Second / time.Duration(len(tt.want)); wall[in] < part-100*time.Millisecond {
					t.Errorf("%q has %v of %v: %v", in, wall[in], part, wall)
				}
			}
			if said := strings.Contains(strings.Join(s.Notes, "\n"), "where in the kernel"); said != tt.refused {
				t.Errorf("notes: %q", s.Notes)
			}
		})
	}
}

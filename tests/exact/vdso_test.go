//go:build linux && (amd64 || arm64)

package exact

import "testing"

// TestNoVDSO: a program that was not told where the vDSO is has no point in it, and goes on.
func TestNoVDSO(t *testing.T) {
	if err := mayTrace(); err != nil {
		t.Skipf("ptrace is not to be had here: %v", err)
	}
	argv := []string{built(t, "crossings"), "turns"}
	for _, hidden := range []bool{false, true} {
		opt := Options{Marked: true, Every: 5, Max: 8000, NoVDSO: hidden, Below: "[vdso]", TruthOnly: true}
		r, err := Run(argv, opt)
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != "enough" || (r.Below > 0) == hidden {
			t.Errorf("hidden %v: %d of %d points in the vDSO, %s", hidden, r.Below, r.Points, r.Status)
		}
	}
}

package cmd

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// TestRepeats: which signal is meant to give up.
func TestRepeats(t *testing.T) {
	type sent struct {
		signal os.Signal
		at     time.Duration
		want   bool
	}
	hup, in, term := syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM
	for _, tt := range []struct {
		name string
		all  []sent
	}{
		{"a closed terminal", []sent{{hup, 0, false}, {hup, 10 * time.Millisecond, false}}},
		{"Ctrl-C twice", []sent{{in, 0, false}, {in, 1500 * time.Millisecond, true}}},
		{"Ctrl-C in a hurry", []sent{{in, 0, false}, {in, 200 * time.Millisecond, false},
			{in, 1200 * time.Millisecond, true}}},
		{"another kind, late", []sent{{in, 0, false}, {term, 5 * time.Second, false}, {hup, 9 * time.Second, false}}},
		{"kinds by turns", []sent{{term, 0, false}, {hup, 2 * time.Second, false}, {term, 3 * time.Second, true}}},
	} {
		r, begin := repeats{}, time.Now()
		for i, s := range tt.all {
			if got := r.again(s.signal, begin.Add(s.at)); got != s.want {
				t.Errorf("%s: signal %d, %v after %v: got %v, want %v", tt.name, i, s.signal, s.at, got, s.want)
			}
		}
	}
}

//go:build linux

package cmd

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// TestWords holds what fpstack makes of words without a flag before them.
func TestWords(t *testing.T) {
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Skipf("no process to name: %v", err)
	}
	defer func() {
		sleep.Process.Kill()
		sleep.Wait()
	}()
	for _, tt := range []struct {
		args   string
		status int
		want   string // in what is written, to either side
	}{
		{"4194304", statusNothing, "process 4194304"},
		{"dump 4194304,4194303", statusNothing, "process 4194303"},
		{"4194304 -p 4194303", statusNothing, "process 4194303"},
		{"--version", statusAll, "fpstack "},
		{"recrod -p 1", statusUsage, `"recrod"; did you mean record?`},
		{"chekc", statusUsage, "did you mean check?"},
		{"frobnicate", statusUsage, `unknown command or argument "frobnicate"` + "\n"},
		{"4194304 x", statusUsage, `"x"`},
		{"0", statusUsage, `"0"`},
		{"sleep", statusUsage, "did you mean -n sleep"},
		{"sleeep", statusUsage, "did you mean -n sleep"},
		{"record -p init", statusUsage, `"init" is not an id; -n takes names`},
		{"record -p init", statusUsage, "Run 'fpstack record --help'"},
	} {
		var out, complaint bytes.Buffer
		got := Execute(strings.Fields(tt.args), &out, &complaint)
		if text := out.String() + complaint.String(); got != tt.status || !strings.Contains(text, tt.want) {
			t.Errorf("fpstack %s: status %d, want %d; want %q in %q", tt.args, got, tt.status, tt.want, text)
		}
	}
}

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
		{"sleep --max-frames=-1", statusUsage, "-1 is negative"}, // and so the name was taken
		{"dump sleep --max-frames=-1", statusUsage, "-1 is negative"},
		{"waits nobody-has-this", statusNothing, `no process is named "nobody-has-this"`},
		{"hang nobody-has-this", statusNothing, `no process is named "nobody-has-this"`},
		{"doctor nobody-has-this", statusNothing, `no process is named "nobody-has-this"`},
		{"check nobody-has-this", statusNothing, `no process is named "nobody-has-this"`},
		{"perf-map nobody-has-this", statusNothing, `no process is named "nobody-has-this"`},
		{"check root.go sleep", statusUsage, "both processes and files"},
		{"record nobody-has-this -d 1", statusNothing, `no process and no program is named "nobody-has-this"`},
		{"top nobody-has-this --once 1", statusNothing, `no process and no program is named "nobody-has-this"`},
		{"record sleep", statusUsage, "write -n sleep for the process, -- sleep to run"},
		{"record sleep -d 1", statusUsage, "write -n sleep for the process, -- sleep -d 1 to run"},
		{"top sleep", statusUsage, "write -n sleep for the process, -- sleep to run"},
		{"record 4194304 -d 1 -o /nowhere/x.html", statusNothing, "/nowhere"}, // options after a process are ours
		{"record 4194304 -d 0", statusUsage, "seconds above 0"},
		{"record 4194304 -- make", statusUsage, "give one of them"},
		{"record -p 1 true", statusUsage, "together with a command"},
		{"record 4194304 --help", statusAll, "Usage:"},
		{"hang 0", statusNothing, `no process is named "0"`},
		{"chekc", statusUsage, "did you mean check?"},
		{"frobnicate", statusNothing, `no process is named "frobnicate"` + "\n"},
		{"4194304 nobody-has-this", statusNothing, `"nobody-has-this"`},
		{"0", statusNothing, `"0"`},
		{"sleeep", statusNothing, "did you mean sleep"},
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

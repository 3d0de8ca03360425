//go:build linux

package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestCommandStatus(t *testing.T) {
	dir := t.TempDir()
	files := map[string]struct {
		text string
		mode os.FileMode
	}{"plain": {"exit 5\n", 0o755}, "locked": {"exit 5\n", 0o644}, "orphan": {"#!/no/such/shell\n", 0o755}}
	for name, f := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(f.text), f.mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name  string
		argv  []string
		start int // status of a command that could not be started
		want  int
	}{
		{"ends well", []string{"sh", "-c", "exit 0"}, 0, 0},
		{"exit 3", []string{"sh", "-c", "exit 3"}, 0, 3},
		{"exit 255", []string{"sh", "-c", "exit 255"}, 0, 255},
		{"killed by SIGKILL", []string{"sh", "-c", "kill -9 $$"}, 0, 137},
		{"killed by SIGTERM", []string{"sh", "-c", "kill -TERM $$"}, 0, 143},
		{"script without a first line", []string{filepath.Join(dir, "plain")}, 0, 5},
		{"not in PATH", []string{"no-such-command-here"}, 127, 0},
		{"no such file", []string{filepath.Join(dir, "none")}, 127, 0},
		{"interpreter is not there", []string{filepath.Join(dir, "orphan")}, 127, 0},
		{"not executable", []string{filepath.Join(dir, "locked")}, 126, 0},
		{"a folder", []string{dir}, 126, 0},
		{"empty name", []string{""}, 127, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Start(tt.argv, Options{})
			var start *StartError
			if errors.As(err, &start) || tt.start != 0 {
				if start == nil || start.Status != tt.start {
					t.Errorf("start: got %v, want status %d", err, tt.start)
				}
				return
			}
			if status, err := c.Wait(); status != tt.want || err != nil {
				t.Errorf("got status %d, %v; want %d", status, err, tt.want)
			}
		})
	}
}

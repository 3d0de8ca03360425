//go:build linux

package dotnet

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/cmd"
)

// TestSavedAlike: a saved dump shows each frame as the live one did, also where it lies: code that the runtime makes is
// in a file that no folder has.
func TestSavedAlike(t *testing.T) {
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			s, to := start(t, version), filepath.Join(t.TempDir(), "saved")
			s.Close()
			var live, saved, complaints bytes.Buffer // frames of libraries without symbols have no names
			cmd.Execute([]string{"-p", fmt.Sprint(s.PID()), "--all", "--save", to}, &live, &complaints)
			cmd.Execute([]string{to, "--all"}, &saved, &complaints)
			if live.String() != saved.String() || !strings.Contains(live.String(), "[dotnet]") {
				t.Errorf("saved:\n%s\nlive:\n%s\n%s", &saved, &live, &complaints)
			}
		})
	}
}

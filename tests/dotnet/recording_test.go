//go:build linux

package dotnet

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/cmd"
)

// TestRecording: a recording of a server that has just begun to work, and compiles all the time, has whole stacks.
func TestRecording(t *testing.T) {
	for _, version := range versions(t) {
		if !*full && version != library {
			continue
		}
		t.Run(version, func(t *testing.T) {
			s := start(t, version)
			go s.work()
			var out, complaints bytes.Buffer
			status := cmd.Execute([]string{"record", "-p", fmt.Sprint(s.PID()), "-d", "2", "-f", "folded"}, &out,
				&complaints)
			all, cut, managed := 0, 0, 0
			for line := range strings.Lines(out.String()) {
				all++
				if strings.HasPrefix(line, "(stack cut") {
					cut++
				}
				if strings.Contains(line, ";System.Threading.") {
					managed++
				}
			}
			t.Logf("%d stacks, %d with managed code, %d cut", all, managed, cut)
			if status != 0 || managed < 20 || cut > max(1, all/100) {
				t.Errorf("status %d, %d of %d stacks are cut, %d with managed code: %s", status, cut, all, managed,
					complaints.String())
			}
		})
	}
}

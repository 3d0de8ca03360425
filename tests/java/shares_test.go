//go:build linux && (amd64 || arm64)

package java

import (
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

// TestShares: methods have the shares of CPU time that the program counts itself: a loop, copies, objects, exceptions.
func TestShares(t *testing.T) {
	for _, version := range harness.Sharers(versions(t)) {
		t.Run(version, func(t *testing.T) {
			s := startShares(t, version)
			time.Sleep(5 * time.Second) // it compiles what is hot
			harness.CompareShares(t, s.pid, func() harness.Shares {
				said, all := harness.Shares{}, s.read(t)
				for i, part := range parts {
					said[part] = all[2+i]
				}
				return said
			})
		})
	}
}

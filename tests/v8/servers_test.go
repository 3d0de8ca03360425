//go:build linux

package v8

import (
	"os"
	"slices"
	"testing"
)

// TestServers: requests to servers as they are written, which never end: each from the line that waits to the handler
// of its route, also in middleware and behind a lock that another request has.
func TestServers(t *testing.T) {
	const modules = "../../testdata/bin/javascript/servers"
	if _, err := os.Stat(modules); err != nil {
		t.Skip("modules of servers are not built: scripts/build-node")
	}
	for _, version := range versions(t) {
		if majorOf(version) < 20 || !*full && !slices.Contains(quickMajors, majorOf(version)) {
			continue // which is the oldest that Fastify runs on
		}
		for _, server := range []string{"express", "fastify"} {
			t.Run(version+"/"+server, func(t *testing.T) {
				x := start(t, version, nil, "servers/"+server+".js")
				calls, err := x.settledCalls(t)
				if err != nil {
					t.Error(err)
				}
				x.compareCalls(t, calls, true, true)
			})
		}
	}
}

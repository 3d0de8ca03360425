package cmd

import (
	"testing"

	"github.com/fpstack/fpstack/agent/choose"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/push/otlp"
)

// TestIdentify: a name that chose a process is its service, and what the rule says of the service comes before.
func TestIdentify(t *testing.T) {
	const nobody = 1 << 30 // above every pid_max, so that /proc says nothing of it
	for _, tt := range []struct {
		name          string
		chosen        string
		rule          choose.Rule
		service, says string
	}{
		{"by its name", "redis-server", choose.Rule{Names: []string{"redis-server"}}, "redis-server", ""},
		{"by no name", "", choose.Rule{Users: []int{33}}, "", ""},
		{"the rule names the service", "node", choose.Rule{Names: []string{"node"}, Service: "shop"}, "node", "shop"},
	} {
		id := identify(&choose.Chosen{Identity: procfs.Identity{PID: nobody}, Rule: &tt.rule, Name: tt.chosen})
		says := ""
		for _, a := range id.Labels {
			if a == (otlp.Attribute{Key: "service.name", Value: a.Value}) {
				says = a.Value
			}
		}
		if id.Service != tt.service || says != tt.says {
			t.Errorf("%s: service %q, label %q; want %q, %q", tt.name, id.Service, says, tt.service, tt.says)
		}
	}
}

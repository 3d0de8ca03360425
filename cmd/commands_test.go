package cmd

import (
	"bytes"
	"strings"
	"testing"
)

// TestCommandsMade holds that a command line makes the commands that it names and no other: each takes time at
// the start of every dump.
func TestCommandsMade(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
	}{
		{"-p 1", ""}, {"-p 1 -o record", "record"}, {"record -p 1", "record"}, {"version", "version"},
		{"man top", "top man"},
		{"-p 1 --help", ""}, {"record --help", "record"}, {"", ""}, {"4121", ""}, {"nginx -v", ""}, {"help", "all"},
		{"-n help", "all"},
		{"completion bash", "all"}, {"__complete rec", "all"},
	} {
		a := &app{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
		root := a.root()
		a.addCommands(root, strings.Fields(tt.args))
		var made, all []string
		for _, s := range subcommands() {
			all = append(all, s.name)
			for _, c := range root.Commands() {
				if c.Name() == s.name {
					made = append(made, s.name)
				}
			}
		}
		want := tt.want
		if want == "all" {
			want = strings.Join(all, " ")
		}
		if got := strings.Join(made, " "); got != want {
			t.Errorf("fpstack %s: made %q, want %q", tt.args, got, want)
		}
	}
}

// TestHelpKnowsAllCommands holds that help is the same whichever way it is requested.
func TestHelpKnowsAllCommands(t *testing.T) {
	help := func(args string) string {
		var out, complaint bytes.Buffer
		if status := Execute(strings.Fields(args), &out, &complaint); status != 0 || complaint.Len() > 0 {
			t.Fatalf("fpstack %s: status %d, %q", args, status, complaint.String())
		}
		return out.String()
	}
	for _, same := range [][]string{{"help", "--help", "-p 1 --help", "-vh", "--help record"},
		{"help record", "record --help", "record -p 1 -h"}} {
		want := help(same[0])
		if !strings.Contains(want, "Usage:") {
			t.Errorf("fpstack %s shows no usage: %q", same[0], want)
		}
		for _, args := range same[1:] {
			if got := help(args); got != want {
				t.Errorf("fpstack %s: got\n%s\nwant what fpstack %s shows\n%s", args, got, same[0], want)
			}
		}
	}
	for _, s := range subcommands() {
		if !strings.Contains(help("help --all"), "\n  "+s.name+" ") {
			t.Errorf("help does not name %s", s.name)
		}
	}
}

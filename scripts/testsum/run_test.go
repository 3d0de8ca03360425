package main

import (
	"strings"
	"testing"
)

// The events below are lines of real runs, shortened to the fields that count.
func TestRun(t *testing.T) {
	tests := []struct {
		name   string
		events string
		want   counts
		says   []string
	}{
		{
			name: "one of each kind",
			events: `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:7: ptrace is not allowed here\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestC","Output":"    c_test.go:9: got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p"}
`,
			want: counts{passed: 1, failed: 1, skipped: 1},
			says: []string{"skipped: p TestB: b_test.go:7: ptrace is not allowed here", "c_test.go:9: got 1, want 2",
				"FAIL  p"},
		},
		{
			name: "a package that does not build",
			events: `{"ImportPath":"p [p.test]","Action":"build-output","Output":"./p.go:3:1: undefined: x\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}
`,
			want: counts{failed: 1},
			says: []string{"undefined: x"},
		},
		{
			name: "a panic in the middle of a test",
			events: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"panic: runtime error\n"}
{"Action":"fail","Package":"p"}
`,
			want: counts{failed: 1},
			says: []string{"panic: runtime error"},
		},
		{
			name:   "a line that is no event",
			events: "# p\n" + `{"Action":"skip","Package":"p"}` + "\n",
			says:   []string{"# p\n", "no tests"},
		},
		{
			name:   "a skip without a word",
			events: `{"Action":"skip","Package":"p","Test":"TestA"}`,
			want:   counts{skipped: 1},
			says:   []string{"TestA: no reason given"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var text strings.Builder
			run := newRun(&text)
			if err := run.readAll(strings.NewReader(tt.events)); err != nil {
				t.Fatal(err)
			}
			if run.counts != tt.want {
				t.Errorf("got %v, want %v", run.counts, tt.want)
			}
			for _, want := range tt.says {
				if !strings.Contains(text.String(), want) {
					t.Errorf("got %q, want %q in it", text.String(), want)
				}
			}
		})
	}
}

// TestMissingTool: where all tools must be there, a skip for want of one is a failure, and other skips are none.
func TestMissingTool(t *testing.T) {
	const events = `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: gdb is not installed\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    a_test.go:8: no kernel thread is in sight\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p"}
`
	for ci, want := range map[string]counts{"true": {failed: 1, skipped: 1}, "": {skipped: 2}} {
		t.Setenv("CI", ci)
		var text strings.Builder
		run := newRun(&text)
		if err := run.readAll(strings.NewReader(events)); err != nil {
			t.Fatal(err)
		}
		if run.counts != want {
			t.Errorf("CI=%q: got %v, want %v", ci, run.counts, want)
		}
		if said := strings.Contains(text.String(), "failed for want of a tool: p TestA: a_test.go:7: gdb is not "+
			"installed"); said != (ci != "") {
			t.Errorf("CI=%q: got %q", ci, text.String())
		}
	}
}

func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		name   string
		counts counts
		want   int
	}{
		{"all passed", counts{passed: 3}, 0},
		{"some skipped", counts{passed: 1, skipped: 2}, 0},
		{"one failed", counts{passed: 3, failed: 1}, 1},
		{"nothing ran", counts{}, 1},
	} {
		if got := tt.counts.status(); got != tt.want {
			t.Errorf("%s: got status %d, want %d", tt.name, got, tt.want)
		}
	}
}

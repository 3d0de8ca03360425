//go:build linux && (amd64 || arm64)

package python

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/walked"
)

var record = flag.Bool("record", false, "write the snapshots that the unit tests of vm/cpython replay")

const snapshots = "../../testdata/snapshots/cpython"

// TestRecord writes for each release, or without -record for the newest into a folder that is removed, one sample of
// mix.py and its frames as they were found to be right.
func TestRecord(t *testing.T) {
	all, to := interpreters(t), snapshots
	if !*record {
		all, to = all[len(all)-1:], t.TempDir()
	}
	for _, in := range all {
		x := start(t, in, "mix.py", nil)
		for i := 0; ; i++ {
			if i == 1000 {
				t.Fatalf("%s: no sample of five frames", in.name)
			}
			walked.Pause(i)
			x.recognise(t)
			s := x.stop(t, asks{x.PID()})
			want, more, ended := x.answer(t)
			stack := x.Stack(s, 0)
			if frames := python(&stack); len(frames) < 5 || more || ended || differs(frames, want, more) != "" {
				continue
			}
			write(t, x, s, to)
			break
		}
	}
}

// write writes the sample without what is of the machine that it was made on.
func write(t *testing.T, x *target, s *snapshot.Snapshot, to string) {
	t.Helper()
	out := &snapshot.Snapshot{Process: snapshot.Process{PID: 1}, Threads: s.Threads[:1]}
	th := &out.Threads[0]
	for _, r := range x.Runtimes.Facts() { // of what was read before the stop the description alone
		if len(r.Data) > 512 {
			out.Memory = append(out.Memory, r)
		}
	}
	const most = 12 << 10
	if len(th.Stack.Data) > most {
		th.Stack = mem.Range{Start: th.Stack.Start, Data: th.Stack.Data[:most]}
	}
	stack := x.Stack(s, 0)
	own := []mem.Range{th.Stack}
	scrub(t, own)
	scrub(t, th.Copied)
	th.Stack = own[0]
	var text strings.Builder
	for _, f := range python(&stack) {
		fmt.Fprintf(&text, "%s %s:%d\n", f.Func, filepath.Base(f.File), f.Line)
	}
	name := filepath.Join(to, fmt.Sprintf("3.%d", x.minor))
	if x.free {
		name += "t"
	}
	file, err := os.Create(name + ".snap")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := snapshot.Write(file, out); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name+".txt", []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

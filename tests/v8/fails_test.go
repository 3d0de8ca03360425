//go:build linux

package v8

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/unwind"
)

// TestEveryReadOfWasmFails: whichever read of the process fails, and whatever was not copied, a stack of WebAssembly is
// as it is, or less and marked.
func TestEveryReadOfWasmFails(t *testing.T) {
	for _, version := range versions(t) {
		if !*full && !slices.Contains(quickMajors, majorOf(version)) {
			continue
		}
		t.Run(version, func(t *testing.T) {
			var flags []string
			if majorOf(version) < 20 {
				flags = []string{"--experimental-wasm-return_call"}
			}
			everyReadFails(t, start(t, version, flags, "wasm.js", "spin"), func(name string) bool {
				return strings.Contains(name, "wasm:")
			})
		})
	}
}

// everyReadFails compares a stack of x that has such a frame with what it is where one read fails. The process is
// stopped for as long: what is read late is what it was.
func everyReadFails(t *testing.T, x *target, has func(name string) bool) {
	t.Helper()
	name := func(f *profile.Frame) string { return fmt.Sprintf("%s %s:%d", f.Func, f.File, f.Line) }
	for i := range 50 {
		walked.Pause(i)
		snap := x.Stop(t)
		syscall.Kill(x.PID(), syscall.SIGSTOP)
		th := &snap.Threads[0]
		live := &memory.Failing{Reader: x.Image().Memory}
		s, whole, err := walked.Steps(x.Set, x.Image(), live, snap, th, name)
		found := slices.ContainsFunc(whole, func(s walked.Step) bool { return has(s.Name) })
		if err != nil || s.Stop != unwind.Root || !found {
			syscall.Kill(x.PID(), syscall.SIGCONT)
			continue
		}
		copied := th.Copied
		try := func(what string, m mem.Reader, left []mem.Range) {
			th.Copied = left
			s, got, err := walked.Steps(x.Set, x.Image(), m, snap, th, name)
			if wrong := walked.Less(&s, got, whole, err, bare); wrong != "" {
				t.Errorf("%s: %s\n%s\nwant\n%s", what, wrong, walked.Show(&s, got, err), walked.Show(nil, whole, nil))
			}
		}
		memory.EachRead(live.Reader, live.N, 40, func(what string, m *memory.Failing) { try(what, m, copied) })
		memory.EachCut(len(copied), 5, func(what string, edit func([]mem.Range) []mem.Range) {
			try(what, live.Reader, edit(copied))
		})
		t.Logf("%d reads, %d ranges", live.N, len(copied))
		return
	}
	t.Error("no stack is whole and has such a frame")
}

// bare is a name without its class and place; that a function of WebAssembly has a number is no name.
func bare(name string) string {
	if strings.HasPrefix(name, "wasm-function[") {
		return ""
	}
	name, _, _ = strings.Cut(name, " ")
	return name[strings.LastIndexByte(name, '.')+1:]
}

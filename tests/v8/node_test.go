//go:build linux

package v8

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/vm"
)

const (
	nodes   = "../../testdata/bin/node"
	scripts = "../../testdata/live/v8"
)

// versions lists the builds of Node.js that are there.
func versions(t testing.TB) []string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(nodes, "*", "bin", "node"))
	if len(found) == 0 {
		t.Skip("no node is there: scripts/build-node gets them")
	}
	for i, f := range found {
		found[i] = filepath.Base(filepath.Dir(filepath.Dir(f)))
	}
	return found
}

// mode is a way to execute scripts.
type mode struct {
	name  string
	flags []string
}

// modes are those that a major version has.
func modes(major int) []mode {
	all := []mode{
		{"default", nil},
		{"interpreter", []string{"--no-opt", "--no-sparkplug"}},
		{"sparkplug", []string{"--no-opt", "--always-sparkplug"}},
		{"jitless", []string{"--jitless"}},
		{"eager", []string{"--always-sparkplug"}},
		// Each function gets a copy of the interpreter's entry.
		{"copied", []string{"--interpreted-frames-native-stack", "--no-opt", "--no-sparkplug"}},
	}
	if major >= 22 {
		for _, i := range []int{1, 2, 5} {
			all[i].flags = append(all[i].flags, "--no-maglev")
		}
		all = append(all, mode{"maglev", []string{"--maglev", "--no-turbofan"}})
	}
	return all
}

// site is a frame as a script knows it: function, file, line.
type site struct {
	function, file string
	line           int
}

func (s *site) UnmarshalJSON(b []byte) error {
	err := json.Unmarshal(b, &[]any{&s.function, &s.file, &s.line})
	s.file = strings.TrimPrefix(s.file, "file://")
	return err
}

// truth is what a script says of itself.
type truth struct {
	Stack   []site   `json:"stack"`   // innermost first
	Partial bool     `json:"partial"` // more frames are outside of Stack
	Cycle   []string `json:"cycle"`   // functions that call one another in this order
	Chain   []string `json:"chain"`   // functions, the innermost first
	Has     string   `json:"has"`     // a function that is on each stack
	Awaits  []site   `json:"awaits"`  // functions that wait for the one on the stack
	Idle    bool     `json:"idle"`    // no JavaScript is on the stack

	Suspended []waitingCall   `json:"suspended"` // async functions that wait
	Handles   json.RawMessage `json:"handles"`   // what its event loop waits for
	Resources []string        `json:"resources"` // the same as process.getActiveResourcesInfo says
	// Calls are the only places where functions are called, by the name of what is called; Via are the builtins that
	// call functions, by the name of those.
	Calls map[string]site   `json:"calls"`
	Via   map[string]string `json:"via"`
}

// target is a script that runs.
type target struct {
	*walked.Process
	truth
	end func()

	described int // stacks
}

// start runs a script, and waits until it has said what it knows.
func start(t testing.TB, version string, flags []string, script string, args ...string) *target {
	t.Helper()
	return startWith(t, vm.NewTable(vm.Kinds, nil), version, flags, script, args...)
}

// startWith runs a script whose runtimes known knows.
func startWith(t testing.TB, known *vm.Table, version string, flags []string, script string,
	args ...string) *target {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(scripts, script))
	if err != nil {
		t.Fatal(err)
	}
	all := append(append(slices.Clone(flags), path), args...)
	cmd := exec.Command(filepath.Join(nodes, version, "bin", "node"), all...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.Start(cmd); err != nil {
		t.Fatal(err)
	}
	x := &target{}
	x.end = func() { cmd.Process.Kill(); cmd.Wait() }
	t.Cleanup(func() { x.end() })
	line, err := bufio.NewReaderSize(out, 1<<20).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &x.truth)
	}
	if err != nil {
		t.Fatalf("%s in node %s %v said %.100q: %v", script, version, flags, line, err)
	}
	x.Process = walked.Open(t, cmd.Process.Pid, walked.Options{Known: known, Names: resolve.Options{NoLines: true}})
	x.awaitReturn(t)
	return x
}

// awaitReturn waits until the script is back from the call that wrote its first line.
func (x *target) awaitReturn(t testing.TB) {
	t.Helper()
	writes := func(f profile.Frame) bool { return f.Func == "writeSync" }
	for range 200 {
		if !slices.ContainsFunc(x.Stacks(x.Stop(t)), func(s profile.Stack) bool {
			return slices.ContainsFunc(s.Frames, writes)
		}) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the script still writes its first line")
}

// javascript are the frames of a stack that have a place in a text, and the builtins between them.
func javascript(s *profile.Stack) (frames []*profile.Frame) {
	for i := range s.Frames {
		if f := &s.Frames[i]; f.Kind == profile.JavaScript && !f.Stub {
			frames = append(frames, f)
		}
	}
	return frames
}

// threadIDs are those of s, in its order.
func threadIDs(s *snapshot.Snapshot) []int {
	ids := make([]int, len(s.Threads))
	for i := range s.Threads {
		ids[i] = s.Threads[i].TID
	}
	return ids
}

// best is the verdict on the thread that executes the script: the main thread, or of a worker the one with JavaScript.
func (x *target) best(t testing.TB, leader int, stacks []profile.Stack, ids []int) (verdict, string) {
	t.Helper()
	v, why := elapsed, ""
	for i := range stacks {
		if ids[i] != leader && len(javascript(&stacks[i])) == 0 {
			continue
		}
		if got, because := x.check(&stacks[i]); v == elapsed || got != right && got != elapsed {
			v, why = got, because
			if got == wrong || got == unnamed || got == cut {
				x.describe(t, &stacks[i])
			}
		}
	}
	return v, why
}

// maxDescribed bounds the stacks that are logged of one script.
const maxDescribed = 3

// describe logs a stack that is not as it should be.
func (x *target) describe(t testing.TB, s *profile.Stack) {
	t.Helper()
	if x.described++; x.described > maxDescribed {
		return
	}
	var text strings.Builder
	for i := range min(len(s.Frames), 12) {
		f := &s.Frames[i]
		fmt.Fprintf(&text, "\n#%d %#x %s %s:%d %s stub %t {%s} %s", f.Index, f.Addr, f.Func, filepath.Base(f.File),
			f.Line, f.Tier, f.Stub, f.Origin, f.Note)
		if i == 0 {
			var b [24]byte
			x.ReadMem(b[:], mem.Addr(f.Addr-8))
			fmt.Fprintf(&text, " code %x|%x", b[:8], b[8:])
		}
	}
	t.Log(text.String())
}

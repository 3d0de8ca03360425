//go:build linux && amd64

package door

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/sampler"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/vm"
)

// jitKinds are the runtimes that read files for profilers alone: V8 is named by them, as other programs of its kind.
func jitKinds() []vm.Kind {
	return slices.DeleteFunc(slices.Clone(vm.Kinds),
		func(k vm.Kind) bool { return !strings.Contains(k.Name, "perf map") })
}

// startNode runs testdata/live/hot.js in node 22 with an option, in a folder of its own.
func startNode(t *testing.T, option string, args ...string) (pid int, wait func()) {
	t.Helper()
	node, err := filepath.Abs("../../testdata/bin/node/22.23.3/bin/node")
	if err == nil {
		_, err = os.Stat(node)
	}
	if err != nil {
		t.Skipf("node 22.23.3 is not there, scripts/build-node says why: %v", err)
	}
	program, err := filepath.Abs("../../testdata/live/hot.js")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, append([]string{option, program}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = harness.Start(cmd)
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
		os.Remove(fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid))
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() { cmd.Wait(); close(ended) }()
	if line != "R\n" {
		t.Fatalf("node said %q, %v", line, err)
	}
	return cmd.Process.Pid, func() { <-ended }
}

// isInner reports whether f is the hot function of hot.js.
func isInner(f *profile.Frame) bool { return f.Func == "inner" && f.Kind == profile.JavaScript }

// TestPerfMap names compiled functions of node by its perf map, which it writes at once.
func TestPerfMap(t *testing.T) {
	pid, _ := startNode(t, "--perf-basic-prof")
	path := fmt.Sprintf("/tmp/perf-%d.map", pid)
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if text, _ := os.ReadFile(path); bytes.Contains(text, []byte("JS:*inner")) {
			break
		} else if time.Now().After(end) {
			t.Fatal("inner was not compiled within a minute")
		}
	}
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		t.Skipf("node cannot be looked into: %v", err)
	}
	defer p.Close()
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	image := p.Image()
	set, runtimes := module.NewSet(table, image), vm.NewTable(jitKinds(), nil).Process(image)
	defer set.Close()
	defer runtimes.Close()
	runtimes.Scan(set)
	met := 0
	for range 20 {
		s, err := p.Snapshot(context.Background(), tracer.StopOptions{})
		if err != nil {
			t.Fatal(err)
		}
		set.Update(s.Maps)
		w := walk(s, set, runtimes, image)
		for i := range w.dump.Threads {
			f := w.dump.Threads[i].Stack.Frames
			if len(f) == 0 || f[0].Kind != profile.JavaScript { // inner, or what it is inlined into
				continue
			}
			met++
			if !strings.HasSuffix(f[0].File, "/hot.js") || isInner(&f[0]) && f[0].Line != 7 ||
				!strings.HasPrefix(f[0].Linkage, "JS:") {
				t.Errorf("top frame %+v", f[0])
			}
		}
	}
	if met < 15 || runtimes.Err() != nil { // the rest is in others, or in a collection of garbage
		t.Errorf("a function of JavaScript is at the top of %d of 20 dumps; %v", met, runtimes.Err())
	}
}

// TestLateJitdump: V8 writes what it compiles last into its jitdump when it ends. A recording waits for these names.
func TestLateJitdump(t *testing.T) {
	pid, wait := startNode(t, "--perf-prof", "2500")
	kinds := vm.NewTable(jitKinds(), nil)
	r := sampler.New(sampler.Options{Rate: 99,
		Runtimes: func(i module.Image) sampler.Runtimes { return kinds.Process(i) }})
	defer r.Close()
	if err := r.Add(pid); err != nil {
		t.Skipf("node cannot be looked into: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	wait()
	p, err := r.Take()
	if err != nil {
		t.Fatal(err)
	}
	var inner, made int64
	for i := range p.Samples {
		if p.Samples[i].Stack == 0 {
			continue
		}
		switch f := &p.Frames[p.Tree.Frame(p.Samples[i].Stack)]; {
		case isInner(f):
			if f.Line != 7 {
				t.Errorf("inner is in line %d, want 7", f.Line)
			}
			inner += p.Value(i)[0]
		case f.Func == "" && f.Module < 0:
			made += p.Value(i)[0]
		}
	}
	if inner < 20 || made > inner/10 {
		t.Errorf("%d samples in inner, %d in code without a name; %q", inner, made, r.Stats().Notes)
	}
}

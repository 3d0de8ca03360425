//go:build linux && amd64

package door

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/dump"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/sampler"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// start runs a program of testdata/live until the end of the test, or until the result is called.
func start(t *testing.T, name string) (pid int, end func()) {
	t.Helper()
	program := filepath.Join("../../testdata/bin/live", name)
	if _, err := os.Stat(program); err != nil {
		t.Skipf("%s is not built, scripts/build-live says why: %v", name, err)
	}
	cmd := exec.Command(program)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.Start(cmd); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			cmd.Process.Kill()
			cmd.Wait()
		}
	}
	t.Cleanup(end)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "R\n" {
		t.Fatalf("%s said %q, %v", name, line, err)
	}
	return cmd.Process.Pid, end
}

// made are the frames between the leaf and the start of the thread.
var made = []string{"toy:switched", "toy:aligned", "toy:inner", "toy:middle", "toy:outer", "work", "start_thread"}

// between returns what is on the stack of names from behind leaf to the thread's start, innermost first; nil without
// leaf.
func between(names []string, leaf string) []string {
	i := slices.Index(names, leaf)
	if i < 0 {
		return nil
	}
	names = names[i+1:]
	return names[:min(len(made), len(names))]
}

// walked is a snapshot with the stacks and names of its threads.
type walked struct {
	stacks []unwind.Stack
	dump   *profile.Dump
}

// walk walks and names a snapshot as the command does.
func walk(s *snapshot.Snapshot, set *module.Set, runtimes *vm.Process, image module.Image) *walked {
	names := resolve.New(set, resolve.Options{})
	w := unwind.NewWalker(set, names)
	w.Use(runtimes)
	out := &walked{stacks: make([]unwind.Stack, len(s.Threads))}
	for i := range s.Threads {
		th := &s.Threads[i]
		out.stacks[i] = w.Walk(th, s.Reader(th, image.Memory), unwind.Options{})
	}
	out.dump = names.Dump(s, resolve.Walked{Threads: out.stacks})
	return out
}

// check checks the two threads of the toy.
func (w *walked) check(t *testing.T, way string) {
	t.Helper()
	check(t, way, w.dump)
	for i := range w.stacks {
		if w.stacks[i].Late {
			t.Errorf("%s: stack %d was read in part when the thread ran again", way, i)
		}
	}
}

func check(t *testing.T, way string, d *profile.Dump) {
	t.Helper()
	met := 0
	for i := range d.Threads {
		th := &d.Threads[i]
		var names, notes []string
		for _, f := range th.Stack.Frames {
			names, notes = append(names, f.Func), append(notes, f.Note)
		}
		for _, leaf := range []string{"leaf_spin", "leaf_sleep"} {
			got := between(names, leaf)
			if got == nil {
				continue
			}
			met++
			start := len(made) - 1 // its name needs the debug file of the C library
			if !slices.Equal(got[:min(start, len(got))], made[:start]) || !th.Stack.Complete {
				t.Errorf("%s, %s: got %q (%s %s), want %q", way, leaf, names, th.Stack.Stop, th.Stack.Detail, made)
			}
			if all := strings.Join(notes, ""); all != "" {
				t.Errorf("%s, %s: notes %q", way, leaf, notes)
			}
			if f := th.Stack.Frames[slices.Index(names, "toy:inner")]; f.Kind != profile.JIT || !f.Inlined {
				t.Errorf("%s: frame of the interpreter %+v", way, f)
			}
		}
	}
	if met != 2 {
		t.Errorf("%s: %d threads of the toy, want 2", way, met)
	}
}

// TestDump takes the toy's threads in one stop, and walks what was copied without the process, too.
func TestDump(t *testing.T) {
	pid, _ := start(t, "toy")
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		t.Skipf("the toy cannot be looked into: %v", err)
	}
	defer p.Close()
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	image := p.Image()
	set, runtimes := module.NewSet(table, image), vm.NewTable([]vm.Kind{kind}, nil).Process(image)
	defer set.Close()
	runtimes.Scan(set)
	if len(runtimes.All()) != 1 || runtimes.Err() != nil {
		t.Fatalf("runtimes %v: %v", runtimes.All(), runtimes.Err())
	}
	s, err := p.Snapshot(context.Background(), tracer.StopOptions{Copiers: runtimes.Copiers()})
	if err != nil {
		t.Fatal(err)
	}
	set.Update(s.Maps)
	walk(s, set, runtimes, image).check(t, "dump")
	asked := runtimes.All()[0].(*toy).asked
	walk(s, set, runtimes, module.Image{}).check(t, "dump without the process")
	if again := runtimes.All()[0].(*toy).asked; again != 2*asked || asked == 0 {
		t.Errorf("%d rows were asked for, then %d: want one for each PC of a walker", asked, again-asked)
	}
}

// TestSaved saves a dump of the toy, and makes it again when the process has ended.
func TestSaved(t *testing.T) {
	pid, end := start(t, "toy")
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		t.Skipf("the toy cannot be looked into: %v", err)
	}
	defer p.Close()
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	saver := dump.NewSaver(&file)
	opt := dump.Options{Runtimes: vm.NewTable([]vm.Kind{kind}, nil)}
	w := dump.New(table, saver.Image(p.Image()), opt)
	defer w.Close()
	s, err := p.Batches(context.Background(), tracer.StopOptions{Copiers: w.Copiers()},
		func(batch *snapshot.Snapshot) { w.Batch(batch); saver.Batch(w, batch) })
	if err != nil {
		t.Fatal(err)
	}
	live := w.Dump(s)
	live.Time = live.Time.UTC().Round(0) // without the clock of this machine
	check(t, "dump", live)
	if err := saver.Finish(); err != nil {
		t.Fatal(err)
	}
	end()
	again, err := dump.NewReplayer(&file, func(f *snapshot.File) (*module.File, error) {
		data, err := os.ReadFile(f.Path)
		return &module.File{Data: data, Path: f.Path}, err
	}, opt).Next()
	if err != nil {
		t.Fatal(err)
	}
	check(t, "saved snapshot", again)
	if !reflect.DeepEqual(again, live) {
		t.Errorf("made again:\n%+v\nwant\n%+v", again, live)
	}
}

// TestSleeper copies the thread that sleeps without a stop.
func TestSleeper(t *testing.T) {
	pid, _ := start(t, "toy")
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		t.Skipf("the toy cannot be looked into: %v", err)
	}
	defer p.Close()
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	image := p.Image()
	set, runtimes := module.NewSet(table, image), vm.NewTable([]vm.Kind{kind}, nil).Process(image)
	defer set.Close()
	runtimes.Scan(set)
	ids, err := p.ThreadIDs()
	if err != nil {
		t.Fatal(err)
	}
	names := resolve.New(set, resolve.Options{})
	w := unwind.NewWalker(set, names)
	w.Use(runtimes)
	met := false
	for _, tid := range ids {
		watch, err := p.Watch(tid)
		if err != nil {
			t.Fatal(err)
		}
		defer watch.Close()
		c := tracer.Copy{Copiers: runtimes.Copiers()}
		if err := watch.Peek(&c, table); err != nil { // it spins
			continue
		}
		if c.Thread.Registers != nil || c.Pause != 0 {
			t.Error("a thread that was not stopped has registers")
		}
		stack := w.Walk(&c.Thread, (&snapshot.Snapshot{}).Reader(&c.Thread, nil), unwind.Options{})
		var got []string
		for _, f := range names.Stack(&stack).Frames {
			got = append(got, f.Func)
		}
		if got = between(got, "leaf_sleep"); got == nil {
			continue
		}
		met = true
		if start := len(made) - 1; !slices.Equal(got[:min(start, len(got))], made[:start]) {
			t.Errorf("got %q, want %q: %v", got, made, stack.Err)
		}
	}
	if !met {
		t.Error("the thread that sleeps was not met")
	}
}

// TestRecording records both threads, and takes the profile when the process has ended.
func TestRecording(t *testing.T) {
	pid, end := start(t, "toy")
	kinds := vm.NewTable([]vm.Kind{kind}, nil)
	r := sampler.New(sampler.Options{Rate: 99,
		Runtimes: func(i module.Image) sampler.Runtimes { return kinds.Process(i) }})
	defer r.Close()
	if err := r.Add(pid); err != nil {
		t.Skipf("the toy cannot be looked into: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	end()
	p, err := r.Take()
	if err != nil {
		t.Fatal(err)
	}
	whole, all := map[string]int64{}, map[string]int64{}
	for i := range p.Samples {
		s := &p.Samples[i]
		names := stackOf(p, s.Stack)
		for _, leaf := range []string{"leaf_spin", "leaf_sleep"} {
			got := between(names, leaf)
			if got == nil {
				continue
			}
			all[leaf] += p.Value(i)[0]
			if start := len(made) - 1; slices.Equal(got[:min(start, len(got))], made[:start]) {
				whole[leaf] += p.Value(i)[0]
			} else {
				t.Logf("%d samples of %q", p.Value(i)[0], names)
			}
		}
	}
	// The first sample comes before the runtime is recognised.
	for _, leaf := range []string{"leaf_spin", "leaf_sleep"} {
		if all[leaf] < 50 || whole[leaf] < all[leaf]*9/10 {
			t.Errorf("%s: %d of %d samples have the whole stack", leaf, whole[leaf], all[leaf])
		}
	}
	if s := r.Stats(); s.Peeks == 0 || s.Stops == 0 {
		t.Errorf("%d copies without a stop and %d stops, want both", s.Peeks, s.Stops)
	}
}

// stackOf lists the functions of a stack, innermost first.
func stackOf(p *profile.Profile, n profile.NodeID) (names []string) {
	for ; n != 0; n = p.Tree.Parent(n) {
		names = append(names, p.Frames[p.Tree.Frame(n)].Func)
	}
	return names
}

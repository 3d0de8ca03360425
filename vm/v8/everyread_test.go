package v8

import (
	"bytes"
	"compress/gzip"
	"encoding/gob"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"

	mapped "github.com/fpstack/fpstack/maps"
)

const recorded = "../../testdata/snapshots/node"

// recordedNode is a process that was saved: its snapshot, what was read of it while it ran, and its program.
type recordedNode struct {
	*snapshot.Snapshot
	running mem.Reader
	set     *module.Set
	proto   *Runtime
	// walker keeps the tables of the program, which take long to read; runtime is the one that it asks.
	walker  *unwind.Walker
	runtime only
	threads []int       // those that run JavaScript
	joined  []mem.Range // what was kept, as [recordedNode.flat] has it
	look    func(path string) (*module.File, error)
}

func openRecorded(t *testing.T, path string) *recordedNode {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.NewReader(bytes.NewReader(b), nil).Read()
	if err != nil {
		t.Fatal(err)
	}
	program := programOf(t, path)
	image := module.Image{Mapping: func(m *mapped.Mapping) (*module.File, error) {
		if m.Path != s.Files[0].Path {
			return nil, os.ErrNotExist
		}
		return &module.File{Data: program, Path: m.Path}, nil
	}}
	n := &recordedNode{Snapshot: s, running: mem.NewOverlay(nil, s.Running...), set: module.NewSet(s.Maps, image)}
	t.Cleanup(func() { n.set.Close() })
	for _, m := range s.Maps.All() {
		if m.Path == s.Files[0].Path && n.proto == nil {
			if n.proto, err = New(n.set.Find(m.Start), image); err != nil || n.proto == nil {
				t.Fatalf("%s holds no V8: %v", m.Path, err)
			}
		}
	}
	n.walker = unwind.NewWalker(n.set, nil)
	n.walker.Use(&n.runtime)
	for i := range n.Threads {
		n.threads = append(n.threads, i)
	}
	running := slices.Clone(n.threads)
	for k, s := range n.stacks(n.running, func(r []mem.Range) []mem.Range { return r }) {
		if !hasNames([]namedStack{s}) {
			running = slices.DeleteFunc(running, func(i int) bool { return i == n.threads[k] })
		}
	}
	n.threads = running
	return n
}

// programOf is the program of a snapshot, of which the parts are kept that names take.
func programOf(t *testing.T, path string) []byte {
	t.Helper()
	var kept struct {
		Size     int
		Contents []mem.Range
	}
	version := strings.Split(filepath.Base(path), "-")[1]
	f, err := os.Open(filepath.Join(recorded, version+".program.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err == nil {
		err = gob.NewDecoder(z).Decode(&kept)
	}
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, kept.Size)
	for _, r := range kept.Contents {
		copy(b[r.Start:], r.Data)
	}
	return b
}

// only is the one runtime of a walk.
type only struct{ *Runtime }

func (o *only) All() []unwind.Runtime { return []unwind.Runtime{o.Runtime} }
func (o *only) Meet(*module.Module)   {}
func (o *only) Scan(*module.Set)      {}

// namedStack is a stack with the logical frames of each of its frames.
type namedStack struct {
	unwind.Stack
	logical [][]profile.Frame
}

// stacks walks and names the threads, with what was copied of each as change leaves it.
func (n *recordedNode) stacks(live mem.Reader, change func([]mem.Range) []mem.Range) []namedStack {
	r := newRuntime(n.proto.layout, n.proto.builtins, nil)
	r.m, r.live, r.node, r.look = n.proto.m, live, n.proto.node, n.look
	r.Mapped(n.set)
	n.runtime.Runtime = r
	var out []namedStack
	for _, i := range n.threads {
		th := n.Threads[i]
		th.Copied = change(slices.Clone(th.Copied))
		s := namedStack{Stack: n.walker.Walk(&th, n.Reader(&th, live), unwind.Options{})}
		for _, f := range s.Frames {
			var l []profile.Frame
			if f.Site != 0 {
				l = r.Frames(f.Site)
			}
			s.logical = append(s.logical, l)
		}
		out = append(out, s)
	}
	return out
}

// TestEveryReadFails: whichever read of the process fails, and whichever copied range is missing or cut, each stack is
// the same, or has less and says so: no frame has the name of another.
func TestEveryReadFails(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(recorded, "loop-*.snapshot"))
	if len(files) < 5 {
		t.Fatalf("%d snapshots in %s", len(files), recorded)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".snapshot"), func(t *testing.T) {
			n := openRecorded(t, path)
			n.look = func(path string) (*module.File, error) {
				return &module.File{Data: []byte("another"), Path: path}, nil
			}
			same := func(r []mem.Range) []mem.Range { return r }
			count := &memory.Failing{Reader: n.running}
			want := n.stacks(count, same)
			if count.N < 10 || !hasNames(want) {
				t.Fatalf("%d reads, names %t", count.N, hasNames(want))
			}
			if !slices.ContainsFunc(want, func(s namedStack) bool {
				return slices.ContainsFunc(slices.Concat(s.logical...), func(f profile.Frame) bool {
					return f.Note == otherNote
				})
			}) {
				t.Error("no line is said to be of another text than the file's")
			}
			seen := map[string]int{}
			memory.EachRead(n.running, count.N, 300, func(what string, m *memory.Failing) {
				compare(seen, what, want, n.stacks(m, same))
			})
			most := 0
			for i := range n.Threads {
				most = max(most, len(n.Threads[i].Copied))
			}
			memory.EachCut(most, 12, func(what string, edit func([]mem.Range) []mem.Range) {
				compare(seen, what, want, n.stacks(n.running, edit))
			})
			t.Logf("%d reads, %d ranges", count.N, most)
			for _, fault := range slices.Sorted(maps.Keys(seen)) {
				t.Errorf("%d × %s", seen[fault], fault)
			}
		})
	}
}

func hasNames(stacks []namedStack) bool {
	return slices.ContainsFunc(stacks, func(s namedStack) bool {
		return slices.ContainsFunc(s.logical, func(l []profile.Frame) bool { return len(l) > 0 })
	})
}

// compare counts in seen what a stack has that the whole one, want, has not.
func compare(seen map[string]int, how string, want, got []namedStack) {
	for i := range want {
		if why := differs(&want[i], &got[i]); why != "" {
			kind, _, _ := strings.Cut(how, " ")
			seen[fmt.Sprintf("%s fails: %s (first: %s)", kind, why, how)]++
		}
	}
}

// differs says what is wrong with got, "" if it is want, or less of it and marked.
func differs(want, got *namedStack) string {
	if len(got.Frames) > len(want.Frames) {
		return "there are more frames"
	}
	for i := range got.Frames {
		w, g := &want.Frames[i], &got.Frames[i]
		if w.PC != g.PC || w.CFA != g.CFA && g.CFA != 0 {
			return fmt.Sprintf("frame %d is another: %q in the place of %q", i, nameOf(got, i), nameOf(want, i))
		}
		if why := differsIn(want.logical[i], got.logical[i], g); why != "" {
			return fmt.Sprintf("frame %d: %s", i, why)
		}
	}
	if len(got.Frames) < len(want.Frames) && (got.Stop == unwind.Root || got.Err == nil) {
		return "it ends early and is said to be whole"
	}
	return ""
}

func nameOf(s *namedStack, i int) string {
	if l := s.logical[i]; len(l) > 0 {
		return l[0].Func
	}
	return ""
}

// differsIn compares the functions of one frame.
func differsIn(want, got []profile.Frame, f *unwind.Frame) string {
	marked := f.Note != "" || f.Unsure || f.Gap
	switch {
	case slices.Equal(want, got):
		return ""
	case !marked && !slices.ContainsFunc(got, func(f profile.Frame) bool { return f.Note != "" }):
		return fmt.Sprintf("%s in the place of %s, unmarked", written(got), written(want))
	case len(got) > len(want):
		return fmt.Sprintf("%s in the place of %s", written(got), written(want))
	}
	for i := range got { // outermost first: what was inlined may be missing
		w, g := want[len(want)-1-i], got[len(got)-1-i]
		name := w.Func[strings.LastIndexByte(w.Func, '.')+1:]
		if g.Func != w.Func && g.Func != name && g.Func != anonymous && !g.Stub || g.File != w.File && g.File != "" {
			return fmt.Sprintf("%s in the place of %s", written(got), written(want))
		}
	}
	return ""
}

func written(frames []profile.Frame) string {
	var out []string
	for _, f := range frames {
		out = append(out, fmt.Sprintf("%s %s:%d", f.Func, filepath.Base(f.File), f.Line))
	}
	return fmt.Sprintf("%q", out)
}

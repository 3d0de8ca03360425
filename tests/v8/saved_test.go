package v8

import (
	"bytes"
	"compress/gzip"
	"encoding/gob"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/dump"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm"
	"github.com/fpstack/fpstack/work"
)

// saved has what fpstack --save wrote of Node.js, and of the programs what names take.
const saved = "../../testdata/snapshots/node"

// savedProgram is the part of a program that is kept: all other bytes are 0.
type savedProgram struct {
	Size     int
	Contents []mem.Range // by offset in the file
}

// TestSaved: what was saved of several versions and modes shows the functions and lines that the script knows, on any
// machine and without Node.js.
func TestSaved(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(saved, "*.snapshot"))
	if len(files) < 5 {
		t.Fatalf("%d snapshots in %s", len(files), saved)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".snapshot")
		t.Run(name, func(t *testing.T) { checkSaved(t, name) })
	}
}

func checkSaved(t *testing.T, name string) {
	var program savedProgram
	version := strings.Split(name, "-")[1]
	readGob(t, filepath.Join(saved, version+".program.gz"), &program)
	d := replay(t, filepath.Join(saved, name+".snapshot"), program.bytes())
	line, err := os.ReadFile(filepath.Join(saved, name+".json")) // what the script said
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Stack   [][]any
		Handles []struct {
			Func, File string
			Line       int
		}
		Suspended []waitingCall
	}
	if err := json.Unmarshal(line, &said); err != nil || len(said.Stack)+len(said.Handles)+len(said.Suspended) < 3 {
		t.Fatalf("the script said %.100q: %v", line, err)
	}
	for _, w := range said.Suspended {
		if n := countSaved(d, &w); n != w.Count {
			t.Errorf("%d × %s, want %d", n, w.key(), w.Count)
		}
	}
	if len(said.Stack) > 0 {
		var want []string
		for _, s := range said.Stack {
			function, _ := s[0].(string)
			line, _ := s[2].(float64)
			want = append(want, placed(function, s[1].(string), int(line)))
		}
		got := savedFrames(d, said.Stack[0][1].(string))
		if len(got) == len(want) && inLoop(got[0], want[0]) {
			got[0] = want[0]
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, h := range said.Handles {
		if n := savedCalls(d, placed(h.Func, h.File, h.Line)); n != 1 {
			t.Errorf("%d handles call %s", n, placed(h.Func, h.File, h.Line))
		}
	}
}

// inLoop reports whether a frame is at the place of want, or at the head of the loop one line before that.
func inLoop(got, want string) bool {
	function, line, _ := strings.Cut(want, ".js:")
	n, err := strconv.Atoi(line)
	return err == nil && (got == want || got == function+".js:"+strconv.Itoa(n-1))
}

func placed(function, file string, line int) string {
	if function == "" {
		function = "<anonymous>"
	}
	return function + " " + file + ":" + strconv.Itoa(line)
}

// savedFrames are the frames of the main thread in file, innermost first.
func savedFrames(d *profile.Dump, file string) (all []string) {
	frames := d.Threads[0].Stack.Frames
	for i := range frames {
		if f := &frames[i]; f.File == file {
			all = append(all, placed(f.Func, f.File, f.Line))
		}
	}
	return all
}

// savedCalls counts the handles of all loops that call a function.
func savedCalls(d *profile.Dump, want string) (n int) {
	for i := range d.Threads {
		if d.Threads[i].Loop == nil {
			continue
		}
		for _, h := range d.Threads[i].Loop.Handles {
			for _, c := range h.Calls {
				if placed(c.Func, c.File, c.Line) == want {
					n++
					break
				}
			}
		}
	}
	return n
}

// replay makes the dump of a saved process again, of whose files the first is the program.
func replay(t *testing.T, path string, program []byte) *profile.Dump {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := true
	open := func(f *snapshot.File) (*module.File, error) {
		if !first {
			return nil, os.ErrNotExist
		}
		first = false
		return &module.File{Data: program, Path: "/elsewhere" + f.Path}, nil // as it is found on another machine
	}
	d, err := dump.NewReplayer(bytes.NewReader(b), open, dump.Options{Runtimes: vm.NewTable(vm.Kinds, nil),
		Fibers:    dump.AllFibers,
		MaxFrames: 100, Names: resolve.Options{Budget: work.New(work.Steps, work.Memory)}}).Next()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// bytes is the file, as far as it was kept.
func (f *savedProgram) bytes() []byte {
	b := make([]byte, f.Size)
	for _, r := range f.Contents {
		copy(b[r.Start:], r.Data)
	}
	return b
}

func readGob(t *testing.T, path string, to any) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err == nil {
		err = gob.NewDecoder(z).Decode(to)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// countSaved is how many async calls of d are w.
func countSaved(d *profile.Dump, w *waitingCall) (n int) {
	for i := range d.Fibers {
		f := &d.Fibers[i]
		c := call{frames: d.FiberStacks[f.Stack].Stack.Frames}
		by := ""
		for k := range d.Fibers {
			if other := &d.Fibers[k]; len(f.AwaitedBy) > 0 && other.ID == f.AwaitedBy[0] {
				by = d.FiberStacks[other.Stack].Stack.Frames[0].Func
			}
		}
		if f.Kind == profile.AsyncCall && c.key() == w.key() && string(f.Wait) == w.Wait && by == w.By {
			n++
		}
	}
	return n
}

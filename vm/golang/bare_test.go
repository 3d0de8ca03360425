package golang

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/vm/view"
)

// procMem reads /proc/PID/mem.
type procMem struct{ file *os.File }

func (p procMem) ReadMem(b []byte, addr mem.Addr) (int, error) {
	n, err := io.ReadFull(io.NewSectionReader(p.file, int64(addr), int64(len(b))), b)
	if err != nil {
		return n, &mem.FaultError{Addr: addr + mem.Addr(n), Len: len(b) - n, Err: err}
	}
	return n, nil
}

// start starts a program of testdata/live/routines_go and returns its runtime.
func start(t *testing.T, name string) *Runtime {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("a live process of x86-64 is wanted")
	}
	path := "../../testdata/bin/live/" + name
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not built: scripts/build-live makes it", name)
	}
	cmd := exec.Command(path, "20")
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := maps.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", cmd.Process.Pid))
	if err != nil {
		t.Skipf("memory of a child is not readable here: %v", err)
	}
	t.Cleanup(func() { memory.Close() })
	image := module.Image{Memory: procMem{memory}, Mapping: func(m *maps.Mapping) (*module.File, error) {
		b, err := os.ReadFile(m.Path)
		return &module.File{Data: b, Path: m.Path}, err
	}}
	set := module.NewSet(table, image)
	t.Cleanup(func() { set.Close() })
	i := slices.IndexFunc(table.All(), func(m maps.Mapping) bool {
		return filepath.Base(m.Path) == name && m.Perm&maps.Exec != 0
	})
	r, err := New(set.Find(table.All()[i].Start), image)
	if err != nil || r == nil {
		t.Fatalf("no Go in %s: %v", name, err)
	}
	return r
}

// TestBareIsAsTheDWARF: what code, names of releases and the memory say of a program is what its symbols and DWARF say.
// By the form of another release nothing is taken for a goroutine.
func TestBareIsAsTheDWARF(t *testing.T) {
	for _, name := range []string{"routines-go", "routines-go-pie", "routines-cgo"} {
		r := start(t, name)
		v := view.Lasting(r.memory, nil)
		want, err := readSymbols(r.m, &v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.readBare(&v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.allgs != want.allgs {
			t.Errorf("%s: allgs is at %#x, want %#x", name, uint64(got.allgs), uint64(want.allgs))
		}
		got.g.need, got.m.need = want.g.need, want.m.need // the DWARF asks for more
		got.g.lr = want.g.lr
		if got.g != want.g || got.m != want.m {
			t.Errorf("%s: got %+v %+v\nwant %+v %+v", name, got.g, got.m, want.g, want.m)
		}
		if n := len(want.states); len(got.states) < n || !slices.Equal(got.states[:n], want.states) {
			t.Errorf("%s: states %q, want %q", name, got.states, want.states)
		}
		if n := len(want.reasons); len(got.reasons) < n || !slices.Equal(got.reasons[:n], want.reasons) {
			t.Errorf("%s: reasons %q, want %q", name, got.reasons, want.reasons)
		}
		for release, f := range forms {
			l := f.layout()
			l.allgs, l.states, l.reasons = got.allgs, got.states, got.reasons
			if err := r.prove(l, &v); (err == nil) != (f == forms[releaseOf(r.m)]) {
				t.Errorf("%s: by the form of %s: %v", name, release, err)
			}
		}
	}
}

// TestBareReadFails: whichever read fails, the layout is the whole one or none.
func TestBareReadFails(t *testing.T) {
	r := start(t, "routines-go-stripped")
	count := &memory.Failing{Reader: r.memory}
	v := view.Lasting(count, nil)
	want, err := r.readBare(&v)
	if err != nil {
		t.Fatal(err)
	}
	memory.EachRead(r.memory, count.N, 300, func(what string, m *memory.Failing) {
		v := view.Lasting(m, nil)
		got, err := r.readBare(&v)
		if err == nil && (got.allgs != want.allgs || got.g != want.g || got.m != want.m ||
			!slices.Equal(got.states, want.states) || !slices.Equal(got.reasons, want.reasons)) {
			t.Errorf("%s: got %+v, want %+v", what, got, want)
		}
	})
}

// TestBareWithoutRelease: of a file that does not have its release that is said, and no form is guessed.
func TestBareWithoutRelease(t *testing.T) {
	r := start(t, "routines-go-stripped")
	_, info, ok := r.m.Plain(".go.buildinfo")
	if !ok {
		t.Fatal("the program has no .go.buildinfo to be cleared")
	}
	clear(info)
	v := view.Lasting(r.memory, nil)
	if _, err := r.readBare(&v); err == nil || !strings.Contains(err.Error(), "is not in the file") {
		t.Errorf("error %v", err)
	}
}

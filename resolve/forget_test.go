package resolve

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/symbol/debugfile"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/work"
)

// passing is a stripped program, its debug file and its entry point, which that names. Copies differ in their build id.
type passing struct {
	program, debug []byte
	id             []byte
	opened, open   int // debug files, in all and now
}

func buildPassing(t *testing.T) *passing {
	t.Helper()
	const id = "00112233445566778899aabbccddeeff00112233"
	harness.Need(t, "objcopy", "strip")
	full := harness.Compile(t, "gcc", "a.c", "void _start(void) { for (;;) ; }", "full", "-g", "-static", "-nostdlib",
		"-Wl,--build-id=0x"+id)
	script := exec.Command("sh", "-ec", "objcopy --only-keep-debug full debug; strip -o program full")
	script.Dir = filepath.Dir(full)
	if b, err := script.CombinedOutput(); err != nil {
		t.Skipf("%v\n%s", err, b)
	}
	p := &passing{}
	for name, to := range map[string]*[]byte{"program": &p.program, "debug": &p.debug} {
		var err error
		if *to, err = os.ReadFile(filepath.Join(script.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p.id, _ = hex.DecodeString(id)
	return p
}

// copyOf makes the n-th copy of an image.
func (p *passing) copyOf(image []byte, n uint64) []byte {
	id := bytes.Clone(p.id)
	binary.BigEndian.PutUint64(id, n)
	return bytes.ReplaceAll(image, p.id, id)
}

// look opens the debug file of any copy by its build id.
func (p *passing) look(path string) (*module.File, error) {
	name, ok := strings.CutPrefix(path, "/debug/.build-id/")
	id, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSuffix(name, ".debug"), "/", ""))
	if !ok || err != nil || len(id) != len(p.id) {
		return nil, fs.ErrNotExist
	}
	p.opened++
	p.open++
	return &module.File{Data: p.copyOf(p.debug, binary.BigEndian.Uint64(id)), Path: path,
		Close: func() error { p.open--; return nil }}, nil
}

// module is the n-th copy as a process has it mapped, with the set to be released with that.
func (p *passing) module(t *testing.T, shared *module.Shared, budget *work.Budget, n uint64) (*module.Module,
	*module.Set) {
	t.Helper()
	data := p.copyOf(p.program, n)
	const start = mem.Addr(0x400000)
	table := maps.NewTable([]maps.Mapping{{Start: start, End: start + 0x100000, Perm: maps.Read | maps.Exec,
		Inode: n, Path: "/bin/passing"}})
	set := module.NewSet(table, module.Image{Mapping: shared.Opener(func(*maps.Mapping) (*module.File, error) {
		return &module.File{Data: data, Path: "/bin/passing"}, nil
	})})
	set.Charge(budget)
	m := set.Find(start)
	if m == nil || m.Err != nil {
		t.Fatalf("the program is no module: %+v", m)
	}
	return m, set
}

// TestProgramsComeAndGo: of objects that are forgotten no debug file stays open, and nothing is held of the budget.
func TestProgramsComeAndGo(t *testing.T) {
	p := buildPassing(t)
	for _, tt := range []struct {
		name string
		keep int // Keep is called after so many
		most int // files that may be open
	}{{"forgotten at times", 20, 20}, {"forgotten late", 1000, maxShared}} {
		t.Run(tt.name, func(t *testing.T) {
			*p = passing{program: p.program, debug: p.debug, id: p.id}
			budget := work.New(1<<40, work.Memory)
			finder := debugfile.New([]debugfile.Open{p.look}, []string{"/debug"}, nil)
			shared := module.NewShared()
			n := New(nil, Options{Forgets: true, Budget: budget, Files: symbol.NewFiles(finder, false)})
			_, before := budget.Left()
			most := 0
			const all = 2000
			for i := range all {
				m, set := p.module(t, shared, budget, uint64(i)+1)
				got := n.Frames([]unwind.Frame{{PC: m.Addr(m.Entry()), Interrupted: true, Module: m}})[0]
				if got[len(got)-1].Func != "_start" {
					t.Fatalf("copy %d is named %+v: %v", i, got, n.Err())
				}
				set.Release()
				most = max(most, p.open)
				if i%tt.keep == tt.keep-1 {
					n.Keep(func(module.Object) bool { return false })
					if err := shared.Release(func(module.Object) bool { return false }); err != nil {
						t.Fatal(err)
					}
				}
			}
			if p.opened != all || most > tt.most || p.open != 0 {
				t.Errorf("%d debug files were opened, %d at once, %d are open; want %d, %d at most, 0", p.opened, most,
					p.open, all, tt.most)
			}
			if _, after := budget.Left(); tt.keep < maxShared && after != before {
				t.Errorf("%d bytes of the budget are held for nobody", before-after)
			}
			if err := finder.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

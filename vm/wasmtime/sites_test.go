package wasmtime

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/work"
)

// A name that was copied comes without the offset in a file that is another module's.
func TestOtherNameHasNoOffset(t *testing.T) {
	le := binary.LittleEndian
	d := plain
	d.sections = map[string][]byte{".wasmtime.addrmap": le.AppendUint32(le.AppendUint32([]byte{1, 0, 0, 0}, 0), 0x77)}
	b := d.draw()
	r, _, err := scan(t, b, 0x1000)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]uint64{"alpha": 0x77, "omega": 0} {
		copied := bytes.Clone(b)
		copy(copied[bytes.Index(b, []byte("alpha")):], name)
		s := unwind.Stack{Frames: []unwind.Frame{{PC: mem.Addr(alpha)}}}
		r.Identify(&snapshot.Thread{}, &s, mem.NewOverlay(nil, mem.Range{Start: imageBase, Data: copied}))
		frames := r.Frames(s.Frames[0].Site)
		if len(frames) != 1 || frames[0].Func != name || frames[0].ModuleAddr != want || frames[0].Offset != 0x10 {
			t.Errorf("%s: got %+v, want it at %#x of the module", name, frames, want)
		}
	}
}

// The same module at another place has the same Sites; one with another name in it has not.
func TestSitesAreOfContent(t *testing.T) {
	b := plain.draw()
	other := bytes.Clone(b)
	copy(other[bytes.Index(b, []byte("alpha")):], "omega")
	r, _, _ := scan(t, b, 0x1000)
	first := identifyAt(r, mem.Addr(alpha))
	for _, tc := range []struct {
		name string
		b    []byte
		same bool
	}{{"loaded again", b, true}, {"another module", other, false}} {
		image := module.Image{Memory: mem.NewOverlay(nil, mem.Range{Start: imageBase, Data: tc.b})}
		set := module.NewSet(mapped(len(b), 0x1000), image)
		r.memory = image.Memory
		r.known.Load().images[0].stale = true
		if _, err := r.Scan(set); err != nil {
			t.Fatal(err)
		}
		set.Close()
		if got := identifyAt(r, mem.Addr(alpha)); (got.Site == first.Site) != tc.same || !got.Unsure {
			t.Errorf("%s: Site %d, unsure %t, was %d", tc.name, got.Site, got.Unsure, first.Site)
		}
	}
}

// However many places are named, and however long their names are, they take no more than their bound, and all new ones
// are named.
func TestSitesAreBounded(t *testing.T) {
	const count, each = 200, 2000
	var d drawn
	for i := range count {
		d.functions = append(d.functions, drawnFunction{
			fmt.Sprintf("wasm[0]::function[%d]::%0*d%s", i, 4, i, strings.Repeat("x", 4<<10)), each})
	}
	code := (count*each + 0xfff) &^ 0xfff
	b := d.draw()
	budget := work.New(work.Steps, work.Memory)
	image := module.Image{Memory: mem.NewOverlay(nil, mem.Range{Start: imageBase, Data: b}), Budget: budget.Share()}
	r := New(image)
	set := module.NewSet(mapped(len(b), code), image)
	defer set.Close()
	if present, err := r.Scan(set); !present || err != nil {
		t.Fatal(err)
	}
	_, before := budget.Left()
	for pc := textAt + 1; pc < textAt+count*each-16; pc += 11 {
		budget.Earn(1 << 20)
		f := identifyAt(r, pc)
		if r.known.Load().images[0].functionAt(pc) == nil {
			continue
		}
		if frames := r.Frames(f.Site); len(frames) != 1 || len(frames[0].Func) > maxName {
			t.Fatalf("%#x: %d frames, %s", uint64(pc), len(frames), f.Note)
		}
	}
	_, left := budget.Left()
	if before-left > maxSites || r.Err() != nil {
		t.Errorf("names take %d MiB, want at most %d; %v", (before-left)>>20, maxSites>>20, r.Err())
	}
	if _, err := r.Scan(module.NewSet(maps.NewTable(nil), image)); err != nil {
		t.Fatal(err)
	}
	if _, now := budget.Left(); now-left != work.Memory-before {
		t.Errorf("%d bytes are given back when the module is gone, want its %d", now-left, work.Memory-before)
	}
}

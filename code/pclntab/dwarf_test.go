package pclntab

import (
	"debug/dwarf"
	"slices"
	"strings"
	"testing"
)

// DWARF describes the same inlined calls in another way: as blocks of code in each other.
func TestInlinedCallsAreThoseOfDWARF(t *testing.T) {
	table, f := open(t, build(t, false, []string{"GOOS=linux", "GOARCH=amd64"}))
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	same, differ := 0, 0
	for _, fn := range subprograms(t, d) {
		for pc := fn.low; pc < fn.high; pc += 13 {
			want := fn.chain(pc)
			rec, _ := table.Func(pc)
			var got []string
			for _, fr := range rec.Frames(pc) {
				got = append(got, fr.Func)
			}
			if slices.Equal(got, want) {
				same++
			} else if differ++; differ <= 3 {
				t.Errorf("calls at %#x: got %q, DWARF has %q", pc, got, want)
			}
		}
	}
	if same < 20000 || differ > 0 {
		t.Errorf("calls are the same at %d addresses and differ at %d", same, differ)
	}
}

// block is a subprogram or a call inlined in one.
type block struct {
	low, high uint64
	name      string
	ranges    [][2]uint64
	inner     []*block
}

// chain returns the names at pc, innermost first.
func (b *block) chain(pc uint64) []string {
	for _, in := range b.inner {
		for _, r := range in.ranges {
			if pc >= r[0] && pc < r[1] {
				return append(in.chain(pc), b.name)
			}
		}
	}
	return []string{b.name}
}

// subprograms returns the functions that have code.
func subprograms(t *testing.T, d *dwarf.Data) []*block {
	names := map[dwarf.Offset]string{}
	entries(t, d, func(e *dwarf.Entry) {
		if name, ok := e.Val(dwarf.AttrName).(string); ok && e.Tag == dwarf.TagSubprogram {
			names[e.Offset] = name
		}
	})
	var out, open []*block // open: one for each level of the tree, nil for other entries
	entries(t, d, func(e *dwarf.Entry) {
		if e.Tag == 0 {
			open = open[:len(open)-1]
			return
		}
		var b *block
		if e.Tag == dwarf.TagSubprogram || e.Tag == dwarf.TagInlinedSubroutine {
			b = newBlock(d, e, names)
		}
		if e.Tag == dwarf.TagSubprogram && len(b.ranges) == 1 && !strings.HasPrefix(b.name, "go:") {
			b.low, b.high = b.ranges[0][0], b.ranges[0][1]
			out = append(out, b)
		}
		for i := len(open) - 1; e.Tag == dwarf.TagInlinedSubroutine && i >= 0; i-- {
			if open[i] != nil {
				open[i].inner = append(open[i].inner, b)
				break
			}
		}
		if e.Children {
			open = append(open, b)
		}
	})
	return out
}

func newBlock(d *dwarf.Data, e *dwarf.Entry, names map[dwarf.Offset]string) *block {
	b := &block{}
	b.ranges, _ = d.Ranges(e)
	b.name, _ = e.Val(dwarf.AttrName).(string)
	if origin, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
		b.name = names[origin]
	}
	return b
}

func entries(t *testing.T, d *dwarf.Data, f func(*dwarf.Entry)) {
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return
		}
		f(e)
	}
}

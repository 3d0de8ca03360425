package wasmtime

import (
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/tests/memory"
)

// many returns n copies of the image b, one behind the other, and their mappings.
func many(b []byte, n int) (mem.Reader, *maps.Table) {
	ranges, all := make([]mem.Range, n), make([]maps.Mapping, 0, 2*n)
	for i := range n {
		base := imageBase + mem.Addr(i*0x10000)
		ranges[i] = mem.Range{Start: base, Data: b}
		all = append(all, maps.Mapping{Start: base, End: base + 0x1000, Perm: maps.Read},
			maps.Mapping{Start: base + 0x1000, End: base + 0x2000, Perm: maps.Read | maps.Exec})
	}
	return mem.NewOverlay(nil, ranges...), maps.NewTable(all)
}

// TestScanIsLinear: of eight times as many modules eight times as much is read, at the first look and when they are
// looked for again.
func TestScanIsLinear(t *testing.T) {
	reads := func(n int) (first, again int) {
		drawn, table := many(plain.draw(), n)
		c := &memory.Failing{Reader: drawn}
		image := module.Image{Memory: c}
		r, set := New(image), module.NewSet(table, image)
		defer set.Close()
		for _, count := range []*int{&first, &again} {
			c.N = 0
			if present, err := r.Scan(set); !present || err != nil {
				t.Fatalf("%d modules: present %v, %v", n, present, err)
			}
			*count = c.N
		}
		if got := len(r.known.Load().images); got != n {
			t.Errorf("%d of %d modules were found", got, n)
		}
		return first, again
	}
	const few, times = 50, 8
	first, again := reads(few)
	manyFirst, manyAgain := reads(few * times)
	if first == 0 || again == 0 || manyFirst > times*first || manyAgain > times*again {
		t.Errorf("%d modules take %d reads, then %d; %d take %d, then %d", few, first, again, few*times, manyFirst,
			manyAgain)
	}
}

// TestMoreThanAreRead: modules, and what looks like one, are counted, and what is left out is said.
func TestMoreThanAreRead(t *testing.T) {
	for _, c := range []struct {
		name   string
		bytes  []byte
		n      int
		images int
		said   string
	}{
		{"as many mappings that look like one as are read", make([]byte, 0x2000), maxNone, 0, ""},
		{"one more", make([]byte, 0x2000), maxNone + 1, 0, "there are more than"},
		{"as many modules as are read", plain.draw(), maxImages, maxImages, ""},
		{"one module more", plain.draw(), maxImages + 1, maxImages, "there are more than"},
	} {
		drawn, table := many(c.bytes, c.n)
		image := module.Image{Memory: drawn}
		r, set := New(image), module.NewSet(table, image)
		_, err := r.Scan(set)
		set.Close()
		if got := len(r.known.Load().images); got != c.images {
			t.Errorf("%s: %d modules, want %d", c.name, got, c.images)
		}
		if (err == nil) != (c.said == "") || err != nil && !strings.Contains(err.Error(), c.said) {
			t.Errorf("%s: %v, want %q", c.name, err, c.said)
		}
	}
}

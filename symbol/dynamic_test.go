package symbol

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
)

// TestDynamic: what the whole table defines is found by its name, as one of the symbols of that name; what it does not
// define is not.
func TestDynamic(t *testing.T) {
	m := load(t, libc(t))
	d := OpenDynamic(m)
	if d == nil {
		t.Fatal("the C library has no hash table of names")
	}
	type symbol struct {
		at   module.Vaddr
		size uint64
	}
	all := map[string][]symbol{}
	if err := Each(m, ".dynsym", func(name []byte, v module.Vaddr, size uint64) bool {
		all[string(name)] = append(all[string(name)], symbol{v, size})
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if len(all) < 1000 {
		t.Fatalf("%d names, want those of the C library", len(all))
	}
	for name, want := range all {
		v, size, ok := d.Lookup(name)
		if !ok || !slices.Contains(want, symbol{v, size}) {
			t.Errorf("%q: got %#x, size %d, %v; want one of %v", name, uint64(v), size, ok, want)
		}
		if _, _, ok := d.Lookup(name + "~"); ok {
			t.Errorf("%q is found, which is not defined", name+"~")
		}
	}
	for _, name := range []string{"malloc", "no_such_name"} {
		if want := all[name] != nil; MayDefine(m, ".dynsym", name) != want {
			t.Errorf("%q: MayDefine is %v, want %v", name, !want, want)
		}
	}
}

// TestHostileDynamic: whatever a hash table says, a look-up ends, and finds nothing outside of the table.
func TestHostileDynamic(t *testing.T) {
	path := libc(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ms, err := mappings(path)
	if err != nil {
		t.Fatal(err)
	}
	hash, ok := load(t, path).Section(".gnu.hash")
	if !ok || hash.Offset <= 0 {
		t.Fatal("the C library has no .gnu.hash")
	}
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 40 {
		data := slices.Clone(whole)
		table := data[hash.Offset:][:hash.Size]
		for range 1 << (round / 4) {
			at := random.IntN(len(table))
			if round%2 == 0 {
				at %= 64 // its header
			}
			table[at] = byte(random.Uint32())
		}
		m := moduleOf(t, data, ms)
		d := OpenDynamic(m)
		if d == nil {
			continue
		}
		for _, name := range []string{"malloc", "free", "read", "pthread_create", "no_such_name"} {
			if v, _, ok := d.Lookup(name); ok && name == "no_such_name" {
				t.Errorf("round %d: %q is found at %#x", round, name, uint64(v))
			}
		}
	}
}

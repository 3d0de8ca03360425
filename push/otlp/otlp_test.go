package otlp

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/push/wire"
)

var update = flag.Bool("update", false, "write the frozen bytes again")

// TestFrozen: the bytes of one profile, which the official decoder reads (push/peers). testdata/frozen.hex has 32 of
// them a line.
func TestFrozen(t *testing.T) {
	m := &pprof.Mapping{ID: 1, Start: 0x400000, Limit: 0x500000, Offset: 0x1000, File: "/bin/work", BuildID: "0123abcd"}
	script := &pprof.Mapping{ID: 2, File: "[python]"}
	mainFn := &pprof.Function{ID: 1, Name: "main", Filename: "work.c", StartLine: 40}
	inline := &pprof.Function{ID: 2, Name: "add<int>", SystemName: "_Z3addIiE", Filename: "add.h"}
	outer := &pprof.Location{ID: 1, Mapping: m, Address: 0x401234,
		Line: []pprof.Line{{Function: inline, Line: 7}, {Function: mainFn, Line: 42}}}
	inner := &pprof.Location{ID: 2, Mapping: script, Line: []pprof.Line{{Function: mainFn, Line: 3, Column: 5}}}
	bare := &pprof.Location{ID: 3, Mapping: m, Address: 0x402000}
	wall := &pprof.ValueType{Type: "wall", Unit: "nanoseconds"}
	p := &pprof.Profile{SampleType: []*pprof.ValueType{wall}, PeriodType: wall, Period: 10_000_000,
		TimeNanos: 1_700_000_000_000_000_000, DurationNanos: 15_000_000_000, Mapping: []*pprof.Mapping{m, script},
		Function: []*pprof.Function{mainFn, inline}, Location: []*pprof.Location{outer, inner, bare},
		Sample: []*pprof.Sample{
			{Location: []*pprof.Location{inner, outer}, Value: []int64{70},
				Label: map[string][]string{"thread": {"worker"}, "thread_id": {"7"}}},
			{Location: []*pprof.Location{bare}, Value: []int64{-1}},
		}}
	batch := NewBatch(Scope{"fpstack", "v1"})
	if err := batch.Add(&Resource{Attributes: []Attribute{{Key: "service.name", Value: "work"},
		{Key: "n", Value: "0", Int: true}},
		Profiles: []Profile{{Of: p, ID: [16]byte{1, 2}}}}); err != nil {
		t.Fatal(err)
	}
	b := batch.Bytes()
	var got strings.Builder
	for len(b) > 0 {
		n := min(32, len(b))
		got.WriteString(hex.EncodeToString(b[:n]) + "\n")
		b = b[n:]
	}
	const file = "testdata/frozen.hex"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got.String() != string(want) {
		t.Errorf("%v; got\n%s", err, got.String())
	}
}

// TestErrors: what would be refused, or read wrongly, is not encoded.
func TestErrors(t *testing.T) {
	of := func() *pprof.Profile {
		return &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "wall"}}}
	}
	for name, p := range map[string]Profile{"no id": {Of: of()}, "no such type": {Of: of(), Type: 1, ID: [16]byte{1}},
		"inconsistent": {ID: [16]byte{1},
			Of: &pprof.Profile{SampleType: of().SampleType, Sample: []*pprof.Sample{{}}}}} {
		batch := NewBatch(Scope{})
		empty := batch.Bytes()
		if err := batch.Add(&Resource{Profiles: []Profile{p}}); err == nil {
			t.Errorf("%s: encoded as %x", name, batch.Bytes())
		}
		if batch.Undo(); !bytes.Equal(batch.Bytes(), empty) {
			t.Errorf("%s: %x is left", name, batch.Bytes())
		}
	}
}

// small is a resource of one profile of a function.
func small(name string, id byte) *Resource {
	f := &pprof.Function{ID: 1, Name: name}
	l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f}}}
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "wall", Unit: "nanoseconds"}},
		Function: []*pprof.Function{f}, Location: []*pprof.Location{l},
		Sample: []*pprof.Sample{{Location: []*pprof.Location{l}, Value: []int64{7}}}}
	return &Resource{Attributes: []Attribute{{Key: "service.name", Value: name}},
		Profiles: []Profile{{Of: p, ID: [16]byte{id}}}}
}

// TestBatch: what is taken back leaves nothing, the size is known before the end, and halves have what the whole has.
func TestBatch(t *testing.T) {
	whole, without := NewBatch(Scope{}), NewBatch(Scope{})
	for i, name := range []string{"a", "b", "a"} {
		for _, batch := range []*Batch{whole, without} {
			if err := batch.Add(small(name, byte(i+1))); err != nil {
				t.Fatal(err)
			}
		}
		if err := without.Add(small(strings.Repeat("long", 100), 99)); err != nil {
			t.Fatal(err)
		}
		without.Undo()
	}
	if !bytes.Equal(whole.Bytes(), without.Bytes()) {
		t.Errorf("with what was taken back\n%x, without\n%x", without.Bytes(), whole.Bytes())
	}
	b := whole.Bytes()
	if less := len(b) - whole.Size(); less < 0 || less > 6 {
		t.Errorf("size %d, and %d bytes", whole.Size(), len(b))
	}
	halves, profiles, ok := Halves(b)
	if !ok || profiles != [2]int{2, 1} {
		t.Fatalf("halves of %v profiles, %v", profiles, ok)
	}
	var resources [][]byte
	for _, half := range halves {
		resources = append(resources, wire.All(half, 1)...)
		if tables := wire.All(half, 2); len(tables) != 1 || !bytes.Equal(tables[0], wire.All(b, 2)[0]) {
			t.Errorf("the tables of a half: %x", tables)
		}
	}
	if !slices.EqualFunc(resources, wire.All(b, 1), bytes.Equal) {
		t.Errorf("resources of the halves: %x", resources)
	}
	if _, _, ok := Halves(halves[1]); ok {
		t.Error("one resource is parted")
	}
}

// FuzzHalves: any bytes are parted or not.
func FuzzHalves(f *testing.F) {
	f.Add([]byte("\x0a\x02\x12\x00\x0a\x00\x12\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		halves, profiles, ok := Halves(b)
		if ok && (len(wire.All(halves[0], 1)) == 0 || len(wire.All(halves[1], 1)) == 0 || profiles[0] < 0) {
			t.Errorf("%x is parted into %x", b, halves)
		}
	})
}

package parca

import (
	"encoding/hex"
	"testing"

	pprof "github.com/google/pprof/profile"
)

// TestFrozen: bytes written by hand from the numbers of profilestore.proto: series 2, of labels 1 (labels 1: name 1,
// value 2) and samples 2 (raw_profile 1), and normalized 3.
func TestFrozen(t *testing.T) {
	got := hex.EncodeToString(Encode([]Series{{Labels: map[string]string{"b": "2", "a": "1"}, Pprof: []byte("PP")}}))
	want := "1218" + "0a10" + "0a06" + "0a0161" + "120131" + "0a06" + "0a0162" + "120132" + "1204" + "0a025050" + "1801"
	if got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

// TestNormalize: addresses are as linked where the base is known, else as in the file; what has no build id stays.
func TestNormalize(t *testing.T) {
	at := func(start, limit, offset uint64, build string) *pprof.Mapping {
		return &pprof.Mapping{Start: start, Limit: limit, Offset: offset, BuildID: build}
	}
	known, file := at(0x7000, 0x9000, 0x1000, "a"), at(0x7000, 0x9000, 0x1000, "b")
	none := at(0x7000, 0x9000, 0x1000, "")
	p := &pprof.Profile{Mapping: []*pprof.Mapping{known, file, none}, Location: []*pprof.Location{
		{Mapping: known, Address: 0x7123}, {Mapping: file, Address: 0x7123}, {Mapping: none, Address: 0x7123},
		{Address: 0x7123}}}
	Normalize(p, func(m *pprof.Mapping) (uint64, bool) { return 0x5000, m == known })
	for i, want := range []uint64{0x2123, 0x1123, 0x7123, 0x7123} {
		if got := p.Location[i].Address; got != want {
			t.Errorf("location %d: %#x, want %#x", i, got, want)
		}
	}
	if known.Start != 0 || known.Offset != 0 || none.Start != 0x7000 {
		t.Errorf("mappings %+v, %+v", known, none)
	}
}

package otlp

import (
	"encoding/hex"
	"flag"
	"os"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
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
	b, err := Encode([]Resource{{Attributes: []Attribute{{Key: "service.name", Value: "work"}, Number("n", 0)},
		Profiles: []Profile{{Of: p, ID: [16]byte{1, 2}}}}}, Scope{"fpstack", "v1"})
	if err != nil {
		t.Fatal(err)
	}
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
		if b, err := Encode([]Resource{{Profiles: []Profile{p}}}, Scope{}); err == nil {
			t.Errorf("%s: encoded as %x", name, b)
		}
	}
}

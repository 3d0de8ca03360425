// Package peers holds what we send against the official decoders. It is a module of its own, so that theirs are no
// dependency of fpstack.
package peers

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/fpstack/fpstack/push/otlp"
)

// work is a profile of two stacks with an inlined function, a frame without a module and labels.
func work() *pprof.Profile {
	program := &pprof.Mapping{ID: 1, Start: 0x400000, Limit: 0x500000, Offset: 0x1000, File: "/bin/work",
		BuildID: "0123abcd"}
	script := &pprof.Mapping{ID: 2, File: "[python]"}
	mainFn := &pprof.Function{ID: 1, Name: "main", Filename: "work.c"}
	inline := &pprof.Function{ID: 2, Name: "add<int>", SystemName: "_Z3addIiE", Filename: "add.h"}
	handler := &pprof.Function{ID: 3, Name: "handler", Filename: "app.py"}
	outer := &pprof.Location{ID: 1, Mapping: program, Address: 0x401234,
		Line: []pprof.Line{{Function: inline, Line: 7}, {Function: mainFn, Line: 42}}}
	inner := &pprof.Location{ID: 2, Mapping: script, Line: []pprof.Line{{Function: handler, Line: 3, Column: 5}}}
	wall := &pprof.ValueType{Type: "wall", Unit: "nanoseconds"}
	return &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, wall}, PeriodType: wall, Period: 10_000_000,
		TimeNanos: 1_700_000_000_000_000_000, DurationNanos: 15_000_000_000,
		Mapping: []*pprof.Mapping{program, script}, Function: []*pprof.Function{mainFn, inline, handler},
		Location: []*pprof.Location{outer, inner},
		Sample: []*pprof.Sample{
			{Location: []*pprof.Location{inner, outer}, Value: []int64{1, 70},
				Label: map[string][]string{"thread": {"worker"}, "thread_id": {"812"}}},
			{Location: []*pprof.Location{outer}, Value: []int64{2, 30}},
			{Location: []*pprof.Location{outer}, Value: []int64{0, 0}},
		},
	}
}

func request(t *testing.T, b []byte) *collector.ExportProfilesServiceRequest {
	t.Helper()
	var r collector.ExportProfilesServiceRequest
	if err := proto.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if left := r.ProtoReflect().GetUnknown(); len(left) > 0 {
		t.Errorf("fields that the signal does not have: %x", left)
	}
	return &r
}

// encode encodes resources as one request.
func encode(scope otlp.Scope, resources ...*otlp.Resource) ([]byte, error) {
	b := otlp.NewBatch(scope)
	for _, r := range resources {
		if err := b.Add(r); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// TestOTLP: the official decoder reads from our bytes what we put in, with zero entries in front of each table.
func TestOTLP(t *testing.T) {
	id := [16]byte{1, 2, 3}
	b, err := encode(otlp.Scope{Name: "fpstack", Version: "v1"}, &otlp.Resource{
		Attributes: []otlp.Attribute{{Key: "service.name", Value: "work"}, {Key: "process.pid", Value: "77", Int: true},
			{Key: "zero", Value: "0", Int: true}},
		Profiles: []otlp.Profile{{Of: work(), Type: 1, ID: id}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := request(t, b)
	d := r.Dictionary
	if d.StringTable[0] != "" || !proto.Equal(d.LinkTable[0], &profiles.Link{}) ||
		!proto.Equal(d.StackTable[0], &profiles.Stack{}) || !proto.Equal(d.MappingTable[0], &profiles.Mapping{}) ||
		!proto.Equal(d.FunctionTable[0], &profiles.Function{}) ||
		!proto.Equal(d.LocationTable[0], &profiles.Location{}) ||
		!proto.Equal(d.AttributeTable[0], &profiles.KeyValueAndUnit{}) {
		t.Fatalf("an entry 0 is not zero: %v", d)
	}
	if n := len(r.ResourceProfiles); n != 1 {
		t.Fatalf("%d resources", n)
	}
	res := r.ResourceProfiles[0]
	if a := res.Resource.Attributes; len(a) != 3 || a[0].Value.GetStringValue() != "work" ||
		a[1].Value.GetIntValue() != 77 || a[2].Value.GetValue() == nil {
		t.Errorf("attributes %v", a)
	}
	p := res.ScopeProfiles[0].Profiles[0]
	if s := res.ScopeProfiles[0].Scope; s.Name != "fpstack" || s.Version != "v1" {
		t.Errorf("scope %v", s)
	}
	text := func(i int32) string { return d.StringTable[i] }
	if text(p.SampleType.TypeStrindex) != "wall" || text(p.PeriodType.TypeStrindex) != "wall" ||
		p.Period != 10_000_000 || p.TimeUnixNano != 1_700_000_000_000_000_000 || p.DurationNano != 15_000_000_000 ||
		hex.EncodeToString(p.ProfileId) != hex.EncodeToString(id[:]) {
		t.Errorf("profile %v", p)
	}
	if len(p.Samples) != 2 {
		t.Fatalf("%d samples: one has no value and is left out", len(p.Samples))
	}
	s := p.Samples[0]
	if len(s.Values) != 1 || s.Values[0] != 70 || len(s.TimestampsUnixNano) != 0 {
		t.Errorf("values %v", s)
	}
	if a := d.AttributeTable[s.AttributeIndices[0]]; len(s.AttributeIndices) != 1 ||
		text(a.KeyStrindex) != "thread.name" || a.Value.GetStringValue() != "worker" {
		t.Errorf("attribute of a sample %v", a)
	}
	stack := d.StackTable[s.StackIndex].LocationIndices
	inner, outer := d.LocationTable[stack[0]], d.LocationTable[stack[1]]
	line := func(l *profiles.Line) string { return text(d.FunctionTable[l.FunctionIndex].NameStrindex) }
	if line(inner.Lines[0]) != "handler" || inner.Lines[0].Column != 5 || line(outer.Lines[0]) != "add<int>" ||
		line(outer.Lines[1]) != "main" || outer.Lines[1].Line != 42 || outer.Address != 0x401234 {
		t.Errorf("locations %v, %v", inner, outer)
	}
	kind := func(l *profiles.Location) string {
		return d.AttributeTable[l.AttributeIndices[0]].Value.GetStringValue()
	}
	if kind(inner) != "cpython" || kind(outer) != "native" {
		t.Errorf("frame types %q, %q", kind(inner), kind(outer))
	}
	m := d.MappingTable[outer.MappingIndex]
	build := d.AttributeTable[m.AttributeIndices[0]]
	if text(m.FilenameStrindex) != "/bin/work" || m.MemoryStart != 0x400000 || m.MemoryLimit != 0x500000 ||
		m.FileOffset != 0x1000 || text(build.KeyStrindex) != "process.executable.build_id.gnu" ||
		build.Value.GetStringValue() != "0123abcd" {
		t.Errorf("mapping %v, build id %v", m, build)
	}
}

// TestOTLPFrozen: the official decoder reads the frozen bytes, with no field left over.
func TestOTLPFrozen(t *testing.T) {
	text, err := os.ReadFile("../otlp/testdata/frozen.hex")
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	r := request(t, b)
	p := r.ResourceProfiles[0].ScopeProfiles[0].Profiles[0]
	if len(p.Samples) != 2 || p.Samples[0].Values[0] != 70 || p.Samples[1].Values[0] != -1 {
		t.Errorf("%v", p)
	}
	var left func(m protoreflect.Message)
	left = func(m protoreflect.Message) {
		if u := m.GetUnknown(); len(u) > 0 {
			t.Errorf("%s has fields that it does not know: %x", m.Descriptor().Name(), u)
		}
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case f.Message() == nil:
			case f.IsList():
				for i := range v.List().Len() {
					left(v.List().Get(i).Message())
				}
			default:
				left(v.Message())
			}
			return true
		})
	}
	left(r.ProtoReflect())
}

// TestOTLPWithoutSamples: what stores refuse is not sent.
func TestOTLPWithoutSamples(t *testing.T) {
	p := work()
	p.Sample = p.Sample[2:]
	b, err := encode(otlp.Scope{}, &otlp.Resource{Profiles: []otlp.Profile{{Of: p, Type: 1, ID: [16]byte{1}}}})
	if err != nil {
		t.Fatal(err)
	}
	if r := request(t, b); len(r.ResourceProfiles) != 0 {
		t.Errorf("a profile without samples is sent: %v", r.ResourceProfiles)
	}
}

package push

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/push/otlp"
	"github.com/fpstack/fpstack/push/wire"
)

// drawn is a profile of so many samples, each of a stack of its own, whose functions have names of so many bytes.
func drawn(samples, nameBytes int) *pprof.Profile {
	m := &pprof.Mapping{ID: 1, Start: 0x400000, Limit: 0x800000, Offset: 0x1000, File: "/bin/work", BuildID: "ab12"}
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"},
		{Type: "cpu", Unit: "nanoseconds"}, {Type: "wall", Unit: "nanoseconds"}},
		PeriodType: &pprof.ValueType{Type: "wall", Unit: "nanoseconds"}, Period: 10,
		TimeNanos: 1_700_000_000_000_000_000, DurationNanos: 15e9, Mapping: []*pprof.Mapping{m}}
	for i := range samples {
		f := &pprof.Function{ID: uint64(i + 1), Name: fmt.Sprintf("f%d_%s", i, strings.Repeat("x", nameBytes))}
		l := &pprof.Location{ID: uint64(i + 1), Mapping: m, Address: 0x401000 + uint64(i),
			Line: []pprof.Line{{Function: f, Line: int64(i)}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		s := &pprof.Sample{Location: []*pprof.Location{l}, Value: []int64{1, int64(i % 3), int64(i + 1)}}
		if i%2 == 0 {
			s.Label = map[string][]string{"thread": {"worker"}, "thread_id": {"99"}, "process": {"x"}}
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// recorded is what one process did, p.
func recorded(p *pprof.Profile) Recorded {
	return Recorded{Attributes: []otlp.Attribute{{Key: "service.name", Value: "work"},
		{Key: "team.name", Value: "a\x00b\xff"}, {Key: "process.pid", Value: "7", Int: true}}, Of: p, IDs: NewIDs()}
}

// sum is what a store got of one value, and what it needs to be told apart.
type sum struct {
	value    int64
	profiles int
	ids      map[string]bool
}

// fields are all fields of a message that have a number.
func fields(t *testing.T, message []byte, number int) (found []wire.Field) {
	t.Helper()
	for len(message) > 0 {
		f, rest, err := wire.Next(message)
		if err != nil {
			t.Fatal(err)
		}
		if f.ID == number {
			found = append(found, f)
		}
		message = rest
	}
	return found
}

func unzip(t *testing.T, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// addSeries adds what a request of Pyroscope or Parca holds: labels and pprofs, by their __name__.
func addSeries(t *testing.T, kind Kind, body []byte, sums map[string]*sum) {
	t.Helper()
	number := map[Kind]int{Pyroscope: 1, Parca: 2}[kind]
	for _, series := range fields(t, body, number) {
		set := series.Bytes
		if kind == Parca {
			set = field(set, 1).Bytes
		}
		labels := map[string]string{}
		for _, pair := range fields(t, set, 1) {
			labels[string(field(pair.Bytes, 1).Bytes)] = string(field(pair.Bytes, 2).Bytes)
		}
		if labels["service_name"] != "work" || labels["team_name"] != "a?b?" || len(labels) != 3 {
			t.Errorf("%s: labels %q", kind, labels)
		}
		raw := field(field(series.Bytes, 2).Bytes, 1).Bytes
		p, err := pprof.ParseData(raw)
		if err != nil {
			t.Fatal(err)
		}
		limit := (&Target{Kind: kind}).store().limit
		for i, f := range p.Function {
			if f.ID != uint64(i+1) || p.Location[i].ID != f.ID || p.Mapping[0].ID != 1 {
				t.Fatalf("%s: ids are no numbers from 1 on: function %d", kind, f.ID)
			}
		}
		if size := len(unzip(t, raw)); len(p.SampleType) != 1 || limit.samples > 0 && len(p.Sample) > limit.samples ||
			size > limit.profile {
			t.Errorf("%s: %d types, %d samples in %d bytes", kind, len(p.SampleType), len(p.Sample), size)
		}
		name := p.SampleType[0].Type
		if sums[name] == nil {
			sums[name] = &sum{ids: map[string]bool{}}
		}
		at := sums[name]
		at.profiles++
		at.ids[string(field(field(series.Bytes, 2).Bytes, 2).Bytes)] = true
		for _, s := range p.Sample {
			at.value += s.Value[0]
			if len(s.Label) > 1 || len(s.NumLabel) > 0 || len(s.Label) == 1 && s.Label["thread"][0] != "worker" {
				t.Fatalf("%s: labels of a sample: %v, %v", kind, s.Label, s.NumLabel)
			}
		}
		if kind == Parca && p.Location[0].Address >= 0x400000 {
			t.Errorf("an address that is not as linked: %#x", p.Location[0].Address)
		}
	}
}

// addOTLP adds what a request of OTLP holds, by the name of its value.
func addOTLP(t *testing.T, body []byte, sums map[string]*sum) {
	t.Helper()
	texts := fields(t, field(body, 2).Bytes, 5)
	for _, p := range fields(t, field(field(body, 1).Bytes, 2).Bytes, 2) {
		name := string(texts[field(field(p.Bytes, 1).Bytes, 1).Number].Bytes)
		if sums[name] == nil {
			sums[name] = &sum{ids: map[string]bool{}}
		}
		sums[name].profiles++
		sums[name].ids[string(field(p.Bytes, 7).Bytes)] = true
		for _, s := range fields(t, p.Bytes, 2) {
			v, n := binary.Uvarint(field(s.Bytes, 4).Bytes)
			if n <= 0 {
				t.Fatalf("values %x", s.Bytes)
			}
			sums[name].value += int64(v)
		}
	}
}

// TestParts: whatever the limit of a store, what it gets adds up to the whole, each part with an id of its own.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		kind               Kind
		samples, nameBytes int
		most               int // of requests; more than 1 are wanted
	}{
		{Pyroscope, 17_000, 1, 2}, {Pyroscope, 60, 100_000, 2}, {Parca, 100, 100_000, 4}, {OTLPGRPC, 60, 100_000, 2},
		{OTLPHTTP, 60, 400_000, 2}, {Folder, 10, 10, 1},
	} {
		p := drawn(c.samples, c.nameBytes)
		if c.kind == Parca { // its limit is one of compressed bytes
			random := rand.NewChaCha8([32]byte{1})
			for _, f := range p.Function {
				b := make([]byte, c.nameBytes/2)
				random.Read(b)
				f.Name = hex.EncodeToString(b)
			}
		}
		requests, dropped := (&Target{Kind: c.kind}).Encode([]Recorded{recorded(p)}, otlp.Scope{}, time.Now())
		if dropped != nil || len(requests) > c.most || len(requests) < 2 && c.most > 1 {
			t.Fatalf("%+v: %d requests, dropped %v", c, len(requests), dropped)
		}
		sums, profiles := map[string]*sum{}, 0
		for _, r := range requests {
			profiles += r.Profiles
			body := r.Body
			if r.Gzip {
				body = unzip(t, body)
			}
			if most := (&Target{Kind: c.kind}).store().limit.request; most > 0 && len(body) > most {
				t.Errorf("%+v: a request of %d bytes", c, len(body))
			}
			switch c.kind {
			case Pyroscope, Parca:
				addSeries(t, c.kind, body, sums)
			case OTLPGRPC, OTLPHTTP:
				addOTLP(t, body, sums)
			case Folder:
				q, err := pprof.ParseData(body)
				if err != nil || len(q.Sample) != c.samples || len(q.SampleType) != 3 ||
					q.Comments[0] != "service.name=work" {
					t.Errorf("file: %v, %v", q, err)
				}
			}
		}
		if c.kind == Folder {
			continue
		}
		for k, name := range []string{"", "cpu", "wall"} {
			var want int64
			for _, s := range p.Sample {
				want += s.Value[k]
			}
			got := sums[name]
			if k == 0 {
				if got != nil {
					t.Errorf("%+v: a value without a name", c)
				}
				continue
			}
			if got == nil || got.value != want || c.kind != Parca && len(got.ids) != got.profiles {
				t.Errorf("%+v: %s is %+v, want %d", c, name, got, want)
				continue
			}
			profiles -= got.profiles
		}
		if profiles != 0 {
			t.Errorf("%+v: %d profiles more are accounted for than sent", c, profiles)
		}
	}
}

// TestOneStackTooLarge: what cannot be made smaller is dropped and counted, and the others are sent.
func TestOneStackTooLarge(t *testing.T) {
	p := drawn(3, 10)
	p.Function[1].Name = strings.Repeat("x", 5<<20)
	requests, dropped := (&Target{Kind: Pyroscope}).Encode([]Recorded{recorded(p)}, otlp.Scope{}, time.Now())
	if len(dropped) != 1 || dropped[0].Why != NotEncoded || dropped[0].Profiles != 2 || len(requests) != 2 {
		t.Errorf("%d requests, dropped %+v", len(requests), dropped)
	}
}

// TestEncodeNothing: values that are zero everywhere are no profile, and a profile that is inconsistent is dropped.
func TestEncodeNothing(t *testing.T) {
	p := drawn(2, 1)
	for _, s := range p.Sample {
		s.Value[1] = 0
	}
	for i := range stores {
		kind := stores[i].kind
		requests, dropped := (&Target{Kind: kind}).Encode([]Recorded{recorded(p)}, otlp.Scope{}, time.Now())
		if len(requests) != 1 || requests[0].Profiles != 1 || dropped != nil {
			t.Errorf("%s: %d requests, dropped %v", kind, len(requests), dropped)
		}
		empty := drawn(0, 0)
		requests, dropped = (&Target{Kind: kind}).Encode([]Recorded{recorded(empty)}, otlp.Scope{}, time.Now())
		if requests != nil || dropped != nil {
			t.Errorf("%s: nothing gives %v, %v", kind, requests, dropped)
		}
		broken := drawn(2, 1)
		broken.Sample[0].Value = broken.Sample[0].Value[:1]
		requests, dropped = (&Target{Kind: kind}).Encode([]Recorded{recorded(broken)}, otlp.Scope{}, time.Now())
		if requests != nil || len(dropped) != 1 {
			t.Errorf("%s: an inconsistent profile gives %v, %v", kind, requests, dropped)
		}
	}
}

// TestMadeNames: a name made of module and address is not sent where a store may find a better one.
func TestMadeNames(t *testing.T) {
	p := drawn(2, 1)
	p.Function[0].Name = "work+0x1f8"
	p.Function[1].Name = "work+0xyz" // a name
	q := withoutMadeNames(p)
	if len(q.Sample[0].Location[0].Line) != 0 || len(q.Sample[1].Location[0].Line) != 1 ||
		len(p.Location[0].Line) != 1 {
		t.Errorf("lines %v and %v, of the original %v", q.Sample[0].Location[0].Line, q.Sample[1].Location[0].Line,
			p.Location[0].Line)
	}
	if err := q.CheckValid(); err != nil {
		t.Error(err)
	}
}

// TestLabels: own labels that all stores take, and those that they do not.
func TestLabels(t *testing.T) {
	got, err := ParseLabels([]string{"team=x=y", "k8s.namespace.name=prod", "service.name=shop", "A1_=ä"})
	want := []otlp.Attribute{{Key: "team", Value: "x=y"}, {Key: "k8s.namespace.name", Value: "prod"},
		{Key: "service.name", Value: "shop"}, {Key: "A1_", Value: "ä"}}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || LabelName(got[1].Key) != "k8s_namespace_name" {
		t.Errorf("%v, %v", got, err)
	}
	var many []string
	for i := range maxLabels + 1 {
		many = append(many, fmt.Sprintf("l%d=x", i))
	}
	for _, words := range [][]string{{"x"}, {"=x"}, {"x="}, {"1x=y"}, {"_x=y"}, {"x-y=z"}, {"ä=z"}, {"__name__=z"},
		{"host=z"}, {"host.name=z"}, {"thread=z"}, {"a.b=1", "a_b=2"}, {"a=1", "a=2"}, {"a=x\ny"}, {"a=\xff"},
		{"a=" + strings.Repeat("x", 2000)}, {strings.Repeat("x", 200) + "=y"}, many} {
		if got, err := ParseLabels(words); err == nil {
			t.Errorf("%.80q is taken: %v", words, got)
		}
	}
}

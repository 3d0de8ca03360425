package flame

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math"
	"runtime"
	rpprof "runtime/pprof"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/profile"
)

// What pprof holds comes back; what it does not is Offset, Symbols and Runs.
func TestPprofComesBack(t *testing.T) {
	first := sampled()
	data, _ := asPprof(t, first, PprofOptions{Version: "1.2"})
	back, err := read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	checkValid(t, back)
	again, _ := asPprof(t, back, PprofOptions{Version: "1.2"})
	if !bytes.Equal(again, data) {
		t.Error("written again the file is another")
	}
	for _, typ := range first.Types {
		for _, opt := range []FoldedOptions{{}, {Threads: true}} {
			opt.Type = first.TypeIndex(typ.Type)
			want := folded(t, first, opt)
			opt.Type = back.TypeIndex(typ.Type)
			if got := folded(t, back, opt); got != want {
				t.Errorf("%s as folded %+v: got\n%swant\n%s", typ.Type, opt, got, want)
			}
		}
	}
	if back.Types[back.Default] != profile.WallTime || back.Period != first.Period ||
		back.PeriodType != first.PeriodType ||
		!back.Start.Equal(first.Start) || back.Duration != first.Duration {
		t.Errorf("got default %v, period %v of %v, start %v, duration %v", back.Types[back.Default], back.Period,
			back.PeriodType, back.Start, back.Duration)
	}
	if !slices.Equal(back.Command, []string{"/usr/bin/app --serve"}) || !slices.Equal(back.Comments, first.Comments) {
		t.Errorf("command %q, comments %q", back.Command, back.Comments)
	}
	for _, f := range first.Frames {
		f.Offset = 0
		// a trampoline is not told from others
		if !slices.Contains(back.Frames, f) && f.Kind != profile.Signal && f.Func != "spin" {
			t.Errorf("frame %+v did not come back, got %+v", f, back.Frames)
		}
	}
}

// Folded to pprof to folded is the identity, for every name that folded text can have.
func TestFoldedThroughPprof(t *testing.T) {
	for seed := range uint64(30) {
		want := folded(t, randomProfile(seed), FoldedOptions{})
		p, _, err := ReadFolded(strings.NewReader(want))
		if err != nil {
			t.Fatal(err)
		}
		data, _ := asPprof(t, p, PprofOptions{})
		back, err := read(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if got := folded(t, back, FoldedOptions{}); got != want {
			t.Fatalf("seed %d: got\n%swant\n%s", seed, got, want)
		}
	}
}

// spin makes work that shows in a profile.
func spin(n int, x *uint64) {
	for i := range n {
		*x = *x*6364136223846793005 + uint64(i)
	}
}

// TestReadGoProfiles reads what Go's own runtime writes.
func TestReadGoProfiles(t *testing.T) {
	runtime.GC()
	var heap, cpu bytes.Buffer
	if err := rpprof.Lookup("heap").WriteTo(&heap, 0); err != nil {
		t.Fatal(err)
	}
	if err := rpprof.StartCPUProfile(&cpu); err != nil {
		t.Skip("a CPU profile is under way: ", err)
	}
	rpprof.Do(t.Context(), rpprof.Labels("request", "7"), func(context.Context) { spin(100_000_000, new(uint64)) })
	rpprof.StopCPUProfile()
	for _, tt := range []struct {
		name  string
		data  []byte
		types string
		dflt  int
	}{
		{"heap", heap.Bytes(), "alloc_objects/count, alloc_space/bytes, inuse_objects/count, inuse_space/bytes", 3},
		{"cpu", cpu.Bytes(), "samples/count, cpu/nanoseconds", 1},
	} {
		want, err := pprof.ParseData(tt.data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(bytes.NewReader(tt.data))
		if err != nil {
			t.Fatal(err)
		}
		var types []string
		for _, st := range got.Types {
			types = append(types, st.Type+"/"+st.Unit)
		}
		if strings.Join(types, ", ") != tt.types || got.Default != tt.dflt {
			t.Errorf("%s: types %v, default %d, want %s, %d", tt.name, types, got.Default, tt.types, tt.dflt)
		}
		for k, typ := range got.Types {
			flat, cum := map[string]int64{}, map[string]int64{}
			for _, s := range want.Sample {
				seen := map[string]bool{}
				for i, l := range s.Location {
					for j, line := range l.Line {
						name := line.Function.Name
						if i == 0 && j == 0 {
							flat[name] += s.Value[k]
						}
						if !seen[name] {
							seen[name] = true
							cum[name] += s.Value[k]
						}
					}
				}
			}
			for _, h := range profile.Hottest(got, k) {
				if h.Self != flat[h.Name] || h.Total != cum[h.Name] {
					t.Errorf("%s %s of %s: got %d, %d, want %d, %d", tt.name, typ.Type, h.Name, h.Self, h.Total,
						flat[h.Name],
						cum[h.Name])
				}
				delete(cum, h.Name)
			}
			for name, v := range cum {
				if v != 0 {
					t.Errorf("%s %s: %s with %d is missing", tt.name, typ.Type, name, v)
				}
			}
		}
	}
}

// foreignPprof is a file of another producer, changed by edit.
func foreignPprof(t *testing.T, edit func(*pprof.Profile)) []byte {
	t.Helper()
	m := &pprof.Mapping{ID: 7, Start: 0x400000, Limit: 0x500000, File: "/bin/x", BuildID: "ab"}
	k := &pprof.Mapping{ID: 9, Start: 0xffffffff80000000, Limit: 0xffffffffffffffff, File: "[kernel.kallsyms]"}
	f := &pprof.Function{ID: 3, Name: "f", SystemName: "f", Filename: "f.c"}
	leaf := &pprof.Location{ID: 11, Mapping: m, Address: 0x401000, Line: []pprof.Line{{Function: f, Line: 5}}}
	bare := &pprof.Location{ID: 12, Mapping: m, Address: 0x402000}
	deep := &pprof.Location{ID: 13, Mapping: k, Address: 0xffffffff80001000}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}},
		Mapping:    []*pprof.Mapping{m, k}, Function: []*pprof.Function{f}, Location: []*pprof.Location{leaf, bare,
			deep},
		Sample: []*pprof.Sample{{Location: []*pprof.Location{leaf, bare}, Value: []int64{3}}},
	}
	edit(p)
	var out bytes.Buffer
	if err := p.WriteUncompressed(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestReadPprofOfOthers(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*pprof.Profile)
		want string // folded with thread ids and marks
		tail string // the last comment
	}{
		{"no line", func(*pprof.Profile) {}, "?;?;x+0x2001;f 3\n", ""},
		{"kernel", func(p *pprof.Profile) { p.Sample[0].Location[0] = p.Location[2] },
			"?;?;x+0x2000;[kernel.kallsyms]+0x1000 3\n", ""},
		{"no stack", func(p *pprof.Profile) { p.Sample[0].Location = nil }, "?;? 3\n", ""},
		{"thread by Datadog's labels", func(p *pprof.Profile) {
			p.Sample[0].Label = map[string][]string{"thread name": {"gc"}, "thread id": {"5"}}
		}, "?;gc-5;x+0x2001;f 3\n", ""},
		{"thread by numbers",
			func(p *pprof.Profile) { p.Sample[0].NumLabel = map[string][]int64{"pid": {4}, "tid": {5}} },
			"?-4;?-5;x+0x2001;f 3\n", ""},
		{"other labels", func(p *pprof.Profile) {
			p.Sample[0].Label = map[string][]string{"b": {"x"}, "thread": {"t"}}
			p.Sample[0].NumLabel = map[string][]int64{"a\n": {1}}
		}, "?;t;x+0x2001;f 3\n", `labels not kept: "a\n", "b"`},
		{"an id that is none", func(p *pprof.Profile) { p.Sample[0].Label = map[string][]string{"thread_id": {"-3"}} },
			"?;?;x+0x2001;f 3\n", ""},
		{"two samples of one stack", func(p *pprof.Profile) { p.Sample = append(p.Sample, p.Sample[0]) },
			"?;?;x+0x2001;f 6\n", ""},
		{"a line number beyond 31 bits", func(p *pprof.Profile) { p.Location[0].Line[0].Line = math.MaxInt64 },
			"?;?;x+0x2001;f 3\n", ""},
	} {
		p, err := read(bytes.NewReader(foreignPprof(t, tt.edit)))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		checkValid(t, p)
		if got := folded(t, marked(p), FoldedOptions{Threads: true}); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		if tail := strings.Join(p.Comments, "\n"); tail != tt.tail {
			t.Errorf("%s: comments %q, want %q", tt.name, tail, tt.tail)
		}
	}
}

func TestReadPprofFails(t *testing.T) {
	data, _ := asPprof(t, sampled(), PprofOptions{})
	raw := foreignPprof(t, func(*pprof.Profile) {})
	bomb := func(content []byte, times int) []byte {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		for range times {
			z.Write(content)
		}
		z.Close()
		return out.Bytes()
	}
	for _, tt := range []struct {
		name string
		data []byte
		want string // part of the message
	}{
		{"cut in the compressed data", data[:len(data)/2], "file is cut short"},
		{"cut before the check sum", data[:len(data)-4], "file is cut short"},
		{"check sum is wrong", append(bytes.Clone(data[:len(data)-8]), 1, 2, 3, 4, 5, 6, 7, 8),
			"gzip: invalid checksum"},
		{"cut without compression", raw[:len(raw)-3], "file is cut short or not a profile.proto"},
		{"no types", foreignPprof(t, func(p *pprof.Profile) { p.SampleType, p.Sample = nil, nil }),
			"0 types of values"},
		{"values do not fit types", foreignPprof(t, func(p *pprof.Profile) { p.Sample[0].Value = []int64{1, 2} }),
			"2 values vs. 1 types"},
		{"ids twice", foreignPprof(t,
			func(p *pprof.Profile) { p.Function = append(p.Function, &pprof.Function{ID: 3}) }),
			"multiple functions with same id"},
		{"sum of 64 bits", foreignPprof(t, func(p *pprof.Profile) {
			p.Sample[0].Value[0] = math.MaxInt64
			p.Sample = append(p.Sample, p.Sample[0])
		}), "more than 63 bits"},
		{"lowest number", foreignPprof(t, func(p *pprof.Profile) { p.Sample[0].Value[0] = math.MinInt64 }),
			"more than 63 bits"},
		{"twenty million empty samples in 40 kB", bomb(bytes.Repeat([]byte{0x12, 0}, 1<<20), 20),
			"would take 5120 MiB of memory"},
	} {
		p, err := read(bytes.NewReader(tt.data))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "read p") {
			t.Errorf("%s: got %v, %v, want %q", tt.name, p, err, tt.want)
		}
	}
}

func TestReadPprofDefault(t *testing.T) {
	for _, tt := range []struct {
		dflt string
		want int
	}{{"", 2}, {"b", 1}, {"nobody", 2}} {
		p, err := read(bytes.NewReader(foreignPprof(t, func(p *pprof.Profile) {
			p.SampleType = []*pprof.ValueType{{Type: "a"}, {Type: "b"}, {Type: "c"}}
			p.Sample[0].Value = []int64{1, 2, 3}
			p.DefaultSampleType = tt.dflt
		})))
		if err != nil || p.Default != tt.want || fmt.Sprint(p.Value(0)) != "[1 2 3]" {
			t.Errorf("default %q: got %v, %v, want type %d", tt.dflt, p, err, tt.want)
		}
	}
}

// TestPprofKinds: frames without a module keep their kind, of whatever language they are.
func TestPprofKinds(t *testing.T) {
	for _, k := range []profile.Kind{profile.Kernel, profile.JIT, profile.VDSO, profile.JavaScript, profile.Python,
		profile.Wasm, profile.Julia} {
		b := profile.NewBuilder(profile.SamplesCount)
		f := b.Frame(profile.Frame{Func: "f", Kind: k, Addr: 0x1000, Module: -1})
		b.Add(b.Profile().Tree.Child(0, f), b.Task(profile.Task{PID: 1, TID: 1}), 1)
		var out bytes.Buffer
		if err := WritePprof(&out, b.Profile(), PprofOptions{}); err != nil {
			t.Fatal(err)
		}
		back, err := read(&out)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(back.Frames, func(f profile.Frame) bool { return f.Func == "f" })
		if i < 0 || back.Frames[i].Kind != k || back.Frames[i].Module >= 0 {
			t.Errorf("%v: came back as %+v", k, back.Frames)
		}
	}
}

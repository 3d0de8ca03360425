package flame

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/profile"
)

// asPprof writes p and reads it with pprof's own package.
func asPprof(t *testing.T, p *profile.Profile, opt PprofOptions) ([]byte, *pprof.Profile) {
	t.Helper()
	var out bytes.Buffer
	if err := WritePprof(&out, p, opt); err != nil {
		t.Fatal(err)
	}
	got, err := pprof.ParseData(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := got.CheckValid(); err != nil {
		t.Error(err)
	}
	return out.Bytes(), got
}

func TestPprofTables(t *testing.T) {
	_, p := asPprof(t, sampled(), PprofOptions{Version: "1.2"})
	for i, m := range p.Mapping {
		if m.ID != uint64(i+1) {
			t.Errorf("mapping %d has id %d", i, m.ID)
		}
	}
	for i, l := range p.Location {
		if l.ID != uint64(i+1) {
			t.Errorf("location %d has id %d", i, l.ID)
		}
	}
	for i, f := range p.Function {
		if f.ID != uint64(i+1) {
			t.Errorf("function %d has id %d", i, f.ID)
		}
	}
	var types []string
	for _, st := range p.SampleType {
		types = append(types, st.Type+"/"+st.Unit)
	}
	if want := []string{"samples/count", "cpu/nanoseconds", "wall/nanoseconds"}; !slices.Equal(types, want) ||
		p.DefaultSampleType != "wall" {
		t.Errorf("types %v, default %q, want %v, wall", types, p.DefaultSampleType, want)
	}
	if p.PeriodType.Type != "wall" || p.PeriodType.Unit != "nanoseconds" || p.Period != 10_000_000 {
		t.Errorf("period %d of %v, want 10000000 of wall/nanoseconds", p.Period, p.PeriodType)
	}
	if p.TimeNanos != 1772600767000008000 || p.DurationNanos != 10_000_000_000 {
		t.Errorf("time %d, duration %d, want 1772600767000008000, 10000000000", p.TimeNanos, p.DurationNanos)
	}
	if want := []string{"fpstack 1.2: /usr/bin/app --serve", "2 of 1000 samples were late"}; !slices.Equal(p.Comments,
		want) {
		t.Errorf("comments %q, want %q", p.Comments, want)
	}
	const blob = "https://github.com/fpstack/fpstack/blob/main/"
	page, ours := strings.CutPrefix(p.DocURL, blob)
	if _, err := os.Stat(filepath.Join("..", page)); !ours || err != nil {
		t.Errorf("doc URL %q: %v, want a page of this repository", p.DocURL, err)
	}
	if p.DropFrames != "" || p.KeepFrames != "" {
		t.Errorf("drop %q, keep %q", p.DropFrames, p.KeepFrames)
	}
}

func TestPprofMappings(t *testing.T) {
	_, p := asPprof(t, sampled(), PprofOptions{})
	for i, want := range []pprof.Mapping{
		// One frame has no name, so nothing holds for all of the program's.
		{ID: 1, Start: appBase + 0x1000, Limit: appBase + 0x9000, Offset: 0x1000, File: "/usr/bin/app",
			BuildID: "0011aabb"},
		// All of the library's have names, none has a file.
		{ID: 2, Start: libcBase + 0x26000, Limit: libcBase + 0x17b000, Offset: 0x26000, File: "/usr/lib/libc.so.6",
			BuildID: "99ff", HasFunctions: true},
		{ID: 3, File: "[kernel]", HasFunctions: true},
	} {
		if i >= len(p.Mapping) {
			t.Fatalf("%d mappings, want 3", len(p.Mapping))
		}
		if got := *p.Mapping[i]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("mapping %d: got %+v, want %+v", i, got, want)
		}
	}
	named := sampled()
	named.Frames[slices.IndexFunc(named.Frames, func(f profile.Frame) bool { return f.Func == "" })] =
		profile.Frame{Func: "named", Module: 0, Addr: appBase + 0x3000, ModuleAddr: 0x3000, File: "x.c", Line: 1}
	_, p = asPprof(t, named, PprofOptions{})
	if m := p.Mapping[0]; !m.HasFunctions || !m.HasFilenames || !m.HasLineNumbers || !m.HasInlineFrames {
		t.Errorf("every frame of the program is known to the line, some inlined: got %+v", m)
	}
}

// TestPprofStacks holds the rule of addresses: a leaf's is the PC, a caller's lies in the call, except
// below a signal trampoline and a call into the kernel.
func TestPprofStacks(t *testing.T) {
	_, p := asPprof(t, sampled(), PprofOptions{})
	got := map[string]bool{}
	for _, s := range p.Sample {
		text := ""
		for _, l := range s.Location {
			text += fmt.Sprintf("%#x", l.Address)
			for _, line := range l.Line {
				text += fmt.Sprintf(" %s|%s|%s:%d", line.Function.Name, line.Function.SystemName,
					line.Function.Filename,
					line.Line)
			}
			text += "\n"
		}
		text += fmt.Sprint(s.Value, s.Label)
		got[text] = true
	}
	for name, want := range map[string]string{
		"inlined into the leaf": "0x55d0c0002345 inl||/src/inl.h:7 ns::work(int)|_ZN2ns4workEi|/src/app.c:40\n" +
			"0x55d0c0001233 main||/src/app.c:10\n[30 300000000 300000000] map[process:[app] process_id:[4121] " +
			"thread:[app] " +
			"thread_id:[4121]]",
		"waiting in the kernel": "0x0 read||:0\n0x7f3a1b0f0010 read||:0\n0x55d0c0001243 main||/src/app.c:11\n" +
			"[50 0 500000000] map[process:[app] process_id:[4121] thread:[app] thread_id:[4121]]",
		"without a name": "0x55d0c0003000 app+0x3000||:0\n0x55d0c0001253 main||/src/app.c:12\n" +
			"[5 40000000 50000000] map[process:[app] process_id:[4121] thread:[app] thread_id:[4121]]",
		"interrupted by a signal": "0x55d0c0004800 handler||/src/app.c:90\n0x7f3a1b03c050 __restore_rt||:0\n" +
			"0x55d0c0004444 spin||/src/app.c:70\n" +
			"0x7f3a1b08912f start_thread||:0\n[15 150000000 150000000] map[process:[app] process_id:[4121] " +
			"thread:[io one] " +
			"thread_id:[4122]]",
	} {
		if !got[want] {
			t.Errorf("%s: no sample is\n%s", name, want)
		}
	}
	if len(got) != 4 || t.Failed() {
		for text := range got {
			t.Logf("got\n%s", text)
		}
	}
}

func TestPprofLocations(t *testing.T) {
	b := profile.NewBuilder(profile.SamplesCount)
	b.Profile().Modules = []profile.Module{{Path: "/bin/a", Base: 0x1000, Start: 0x1000, End: 0x9000}}
	at := func(name string, line int) profile.FrameID {
		return b.Frame(profile.Frame{Func: name, Module: 0, Addr: 0x2000, ModuleAddr: 0x1000, Line: line})
	}
	outer := b.Child(0, b.Frame(profile.Frame{Func: "main", Module: 0, Addr: 0x1500, ModuleAddr: 0x500}))
	f := b.Child(outer, at("f", 5))
	b.Add(f, -1, 1) // f as a leaf …
	// … and as a caller: two Locations; g elsewhere by name: a third
	b.Add(b.Child(f, at("g", 1)), -1, 1)
	b.Add(b.Child(b.Child(0, at("f", 5)), at("f", 5)), -1, 1) // both again
	elsewhere := b.Frame(profile.Frame{Func: "h", Module: 0, Addr: 0x77000, ModuleAddr: 0x600})
	b.Add(b.Child(0, elsewhere), -1, 1) // of another process: moved to 0x1600
	_, p := asPprof(t, b.Profile(), PprofOptions{})
	var got []string
	for _, l := range p.Location {
		got = append(got, fmt.Sprintf("%s %#x", l.Line[0].Function.Name, l.Address))
	}
	slices.Sort(got)
	want := []string{"f 0x1fff", "f 0x2000", "g 0x2000", "h 0x1600", "main 0x14ff"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Folded input has no addresses: one Location for each function.
func TestPprofWithoutAddresses(t *testing.T) {
	p, _, err := ReadFolded(strings.NewReader("a;b 1\nb;a;b 2\nc;a 4\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, out := asPprof(t, p, PprofOptions{})
	if len(out.Function) != 3 || len(out.Location) != 5 { // a and b as leaf and as caller, c
		t.Errorf("%d functions, %d locations, want 3 and 5", len(out.Function), len(out.Location))
	}
	if len(out.Mapping) != 0 {
		t.Errorf("mappings %v, want none", out.Mapping)
	}
}

func TestPprofComments(t *testing.T) {
	p := one("m")
	for i := range 8 {
		p.Comments = append(p.Comments, fmt.Sprint("remark\n", i))
	}
	_, out := asPprof(t, p, PprofOptions{})
	want := []string{"fpstack", "remark?0", "remark?1", "remark?2", "and 5 more remarks"}
	if !slices.Equal(out.Comments, want) {
		t.Errorf("got %q, want %q", out.Comments, want)
	}
	p.Comments = p.Comments[:4]
	if _, out = asPprof(t, p, PprofOptions{}); len(out.Comments) != 5 || out.Comments[4] != "remark?3" {
		t.Errorf("got %q, want all five", out.Comments)
	}
}

func TestPprofWithoutIDs(t *testing.T) {
	_, p := asPprof(t, sampled(), PprofOptions{NoIDs: true})
	for _, s := range p.Sample {
		for key := range s.Label {
			if key != "thread" && key != "process" {
				t.Errorf("label %q", key)
			}
		}
	}
}

// diffed is two runs: work went from 2 to 6 of 10 seconds, idle from 8 to 4.
func diffed(t *testing.T) *profile.Diff {
	t.Helper()
	run := func(work, idle int64) *profile.Profile {
		b := profile.NewBuilder(profile.SamplesCount)
		main := b.Child(0, b.Frame(profile.Frame{Func: "main", Module: -1}))
		b.Add(b.Child(main, b.Frame(profile.Frame{Func: "work", Module: -1})), -1, work)
		b.Add(b.Child(main, b.Frame(profile.Frame{Func: "idle", Module: -1})), -1, idle)
		return b.Profile()
	}
	d, err := profile.Compare(run(6, 4), run(2, 8), profile.DiffOptions{Absolute: true})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPprofDiff(t *testing.T) {
	var out bytes.Buffer
	if err := WritePprofDiff(&out, diffed(t), PprofOptions{}); err != nil {
		t.Fatal(err)
	}
	p, err := pprof.ParseData(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, s := range p.Sample {
		got[fmt.Sprint(s.Location[0].Line[0].Function.Name, " ", s.DiffBaseSample())] += s.Value[0]
	}
	want := map[string]int64{"work false": 6, "work true": -2, "idle false": 4, "idle true": -8}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	back, err := read(&out)
	if err != nil {
		t.Fatal(err)
	}
	d, err := profile.Split(back)
	if err != nil {
		t.Fatal(err)
	}
	sides := map[string][2]int64{}
	for i, s := range d.New.Samples {
		sides[d.New.Name(d.New.Tree.Frame(s.Stack))] = [2]int64{d.OldValue(i)[0], d.New.Value(i)[0]}
	}
	if fmt.Sprint(sides) != "map[idle:[8 4] work:[2 6]]" {
		t.Errorf("read back: %v", sides)
	}
}

// goPprof runs go tool pprof over files that were written before.
func goPprof(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"tool", "pprof", "-symbolize=none"}, args...)...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir(), "TZ=UTC")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go tool pprof %q: %v\n%s", args, err, stderr.String())
	}
	return string(out)
}

// rows takes out what a table of pprof says, white space as one blank.
func rows(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 {
			out = append(out, strings.Join(fields, " "))
		}
	}
	return out
}

// TestGoToolPprof compares what go tool pprof says of our files with what was counted by hand from
// the samples of sampled: 1 s in all, of that inl 0.3, read 0.5, nameless 0.05, handler 0.15.
func TestGoToolPprof(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("go is not installed: ", err)
	}
	dir := t.TempDir()
	file := func(name string, write func(*bytes.Buffer) error) string {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole := file("whole.pb.gz", func(w *bytes.Buffer) error {
		return WritePprof(w, sampled(), PprofOptions{Version: "1.2"})
	})
	diff := file("diff.pb.gz", func(w *bytes.Buffer) error { return WritePprofDiff(w, diffed(t), PprofOptions{}) })
	newer := file("newer.pb.gz", func(w *bytes.Buffer) error { return WritePprof(w, diffed(t).New, PprofOptions{}) })
	older := file("older.pb.gz", func(w *bytes.Buffer) error {
		d := diffed(t)
		d.New.Values = d.Old
		return WritePprof(w, d.New, PprofOptions{})
	})
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"top", []string{"-top", "-unit=ms", whole}, []string{
			"Type: wall", "Time: 2026-03-04 05:06:07 UTC", "Duration: 10s, Total samples = 1000ms (10.00%)",
			"fpstack 1.2: /usr/bin/app --serve", "2 of 1000 samples were late",
			"500ms 50.00% 50.00% 500ms 50.00% read", "300ms 30.00% 80.00% 300ms 30.00% inl (inline)",
			"150ms 15.00% 95.00% 150ms 15.00% handler",
			"50ms 5.00% 100% 50ms 5.00% app+0x3000", "0 0% 100% 850ms 85.00% main",
			"0 0% 100% 300ms 30.00% ns::work(int)",
			"0 0% 100% 150ms 15.00% __restore_rt", "0 0% 100% 150ms 15.00% spin",
			"0 0% 100% 150ms 15.00% start_thread"}},
		{"top of samples", []string{"-top", "-sample_index=samples", whole},
			[]string{"Type: samples", "50 50.00% 50.00% 50 50.00% read", "0 0% 100% 85 85.00% main"}},
		{"top of CPU time", []string{"-top", "-sample_index=cpu", "-unit=ms", whole},
			[]string{"Duration: 10s, Total samples = 490ms ( 4.90%)", "300ms 61.22% 61.22% 300ms 61.22% inl (inline)"}},
		{"traces", []string{"-traces", "-unit=ms", whole},
			[]string{"300ms inl (inline)", "500ms read", "50ms app+0x3000", "150ms handler", "thread: io one",
				"process_id: 4121"}},
		{"raw", []string{"-raw", whole},
			[]string{"PeriodType: wall nanoseconds", "Period: 10000000",
				"samples/count cpu/nanoseconds wall/nanoseconds[dflt]",
				"1: 0x55d0c0002345 M=1 inl /src/inl.h:7:0 s=0()", "ns::work(int) /src/app.c:40:0 s=0(_ZN2ns4workEi)",
				"2: 0x55d0c0001233 M=1 main /src/app.c:10:0 s=0()",
				"1: 0x55d0c0001000/0x55d0c0009000/0x1000 /usr/bin/app 0011aabb", "3: 0x0/0x0/0x0 [kernel] [FN]"}},
		{"tags", []string{"-tags", "-unit=ms", whole},
			[]string{"thread: Total 1000ms of 1000ms ( 100%)", "850ms (85.00%): app", "150ms (15.00%): io one",
				"150ms (15.00%): 4122"}},
		{"tagroot", []string{"-top", "-tagroot", "thread", "-unit=ms", whole},
			[]string{"0 0% 100% 850ms 85.00% app", "0 0% 100% 150ms 15.00% io one"}},
		{"comments", []string{"-comments", whole},
			[]string{"fpstack 1.2: /usr/bin/app --serve", "2 of 1000 samples were late"}},
		// Shares are of the base's total of 10.
		{"our difference", []string{"-top", diff}, []string{"-4 40.00% 40.00% -4 40.00% idle",
			"4 40.00% 0% 4 40.00% work"}},
		{"pprof's own of the same two", []string{"-top", "-diff_base", older, newer},
			[]string{"-4 40.00% 40.00% -4 40.00% idle", "4 40.00% 0% 4 40.00% work"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := goPprof(t, tt.args...)
			got := rows(out)
			for _, want := range tt.want {
				if !slices.Contains(got, want) {
					t.Errorf("no row %q", want)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

package flame

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

type speedscopeFile struct {
	Name     string `json:"name"`
	Exporter string `json:"exporter"`
	Active   *int   `json:"activeProfileIndex"`
	Shared   struct {
		Frames []struct {
			Name string `json:"name"`
			File string `json:"file"`
			Line *int   `json:"line"`
		} `json:"frames"`
	} `json:"shared"`
	Profiles []speedscopeProfile `json:"profiles"`
}

type speedscopeProfile struct {
	Type, Name, Unit string
	StartValue       int64
	EndValue         int64
	Samples          [][]int
	Weights          []int64
}

// asSpeedscope writes p, validates it by the published schema and reads it.
func asSpeedscope(t *testing.T, p *profile.Profile, opt SpeedscopeOptions) ([]byte, speedscopeFile) {
	t.Helper()
	var out bytes.Buffer
	if err := WriteSpeedscope(&out, p, opt); err != nil {
		t.Fatal(err)
	}
	checkSchema(t, "testdata/speedscope-1.25.0.schema.json", out.Bytes())
	var f speedscopeFile
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		t.Fatal(err)
	}
	for _, one := range f.Profiles {
		sum := int64(0)
		for _, w := range one.Weights {
			sum += w
		}
		if len(one.Samples) != len(one.Weights) || sum != one.EndValue-one.StartValue || one.Type != "sampled" {
			t.Errorf("%s: %d samples, %d weights, sum %d, from %d to %d", one.Name, len(one.Samples), len(one.Weights),
				sum,
				one.StartValue, one.EndValue)
		}
	}
	return out.Bytes(), f
}

// shown returns the samples of a profile with names, outermost first.
func (f *speedscopeFile) shown(i int) []string {
	var out []string
	for k, s := range f.Profiles[i].Samples {
		text := ""
		for _, frame := range s {
			text += f.Shared.Frames[frame].Name + " "
		}
		out = append(out, fmt.Sprint(text, f.Profiles[i].Weights[k]))
	}
	return out
}

func TestSpeedscopeInTime(t *testing.T) {
	text, f := asSpeedscope(t, sampled(), SpeedscopeOptions{Type: -1, Version: "1.2"})
	checkGolden(t, "speedscope.golden", text)
	if f.Name != "/usr/bin/app --serve" || f.Exporter != "fpstack@1.2" || f.Active == nil || *f.Active != 0 {
		t.Errorf("name %q, exporter %q, active %v", f.Name, f.Exporter, f.Active)
	}
	for i, want := range []struct {
		name    string
		start   int64
		samples []string
	}{
		{"all threads", 0, []string{"main read read (waits) 500000000", "main ns::work(int) inl 300000000",
			"main app+0x3000 50000000", "start_thread spin __restore_rt handler 150000000"}},
		{"app 4121", 0, []string{"main ns::work(int) inl 100000000", "main read read (waits) 500000000",
			"main ns::work(int) inl 200000000", "100000000", "main app+0x3000 50000000"}},
		{"io one 4122", 200_000_000, []string{"start_thread spin __restore_rt handler 150000000"}},
	} {
		got := f.Profiles[i]
		if got.Name != want.name || got.Unit != "nanoseconds" || got.StartValue != want.start ||
			!slices.Equal(f.shown(i), want.samples) {
			t.Errorf("profile %d: got %s from %d %s %q, want %+v", i, got.Name, got.StartValue, got.Unit, f.shown(i),
				want)
		}
	}
	if len(f.Profiles) != 3 {
		t.Errorf("%d profiles, want 3", len(f.Profiles))
	}
}

// A frame is a function: no line, and once for all its addresses.
func TestSpeedscopeFrames(t *testing.T) {
	_, f := asSpeedscope(t, sampled(), SpeedscopeOptions{})
	var got []string
	for _, frame := range f.Shared.Frames {
		got = append(got, frame.Name+" "+frame.File)
		if frame.Line != nil {
			t.Errorf("%s has a line", frame.Name)
		}
	}
	want := []string{"main /src/app.c", "ns::work(int) /src/app.c", "inl /src/inl.h", "read ", "read (waits) ",
		"app+0x3000 ", "start_thread ", "spin /src/app.c", "__restore_rt ", "handler /src/app.c"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSpeedscopeByWeight(t *testing.T) {
	_, f := asSpeedscope(t, sampled(), SpeedscopeOptions{Type: 0, Name: "title"})
	if f.Name != "title" || f.Profiles[0].Unit != "none" {
		t.Errorf("name %q, unit %q, want title, none", f.Name, f.Profiles[0].Unit)
	}
	want := []string{"main read read (waits) 50", "main ns::work(int) inl 30", "main app+0x3000 5"}
	if got := f.shown(1); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Self and total of the first profile are those of Functions.
func TestSpeedscopeSums(t *testing.T) {
	for seed := range uint64(20) {
		p := randomProfile(seed)
		_, f := asSpeedscope(t, p, SpeedscopeOptions{})
		type sum struct{ self, total int64 }
		got, want := map[string]sum{}, map[string]sum{}
		for i, s := range f.Profiles[0].Samples {
			seen := map[int]bool{}
			for k, frame := range s {
				name := f.Shared.Frames[frame].Name
				v := got[name]
				if k == len(s)-1 {
					v.self += f.Profiles[0].Weights[i]
				}
				if !seen[frame] {
					v.total += f.Profiles[0].Weights[i]
				}
				seen[frame] = true
				got[name] = v
			}
		}
		for _, h := range profile.Hottest(p, 0) {
			want[clean(h.Name)] = sum{h.Self, h.Total}
		}
		delete(want, "?") // "" and "?" are two there
		delete(got, "?")
		delete(want, "a?")
		delete(got, "a?")
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: got %v, want %v", seed, got, want)
		}
		if len(f.Profiles) != 1 {
			t.Errorf("%d profiles without threads, want 1", len(f.Profiles))
		}
	}
}

func TestSpeedscopeOrderOfThreads(t *testing.T) {
	b := profile.NewBuilder(profile.WallTime)
	f := b.Child(0, b.Frame(profile.Frame{Func: "f", Module: -1}))
	b.Add(f, b.Task(profile.Task{PID: 1, TID: 5, Thread: "small"}), 1)
	b.Add(f, b.Task(profile.Task{PID: 1, TID: 6, Thread: "large"}), 30)
	b.Add(f, b.Task(profile.Task{PID: 1, TID: 1, Process: "main"}), 2)
	b.Add(f, -1, 4)
	b.Task(profile.Task{PID: 1, TID: 9, Thread: "nothing"})
	_, file := asSpeedscope(t, b.Profile(), SpeedscopeOptions{})
	var names []string
	for _, p := range file.Profiles {
		names = append(names, p.Name)
	}
	want := []string{"all threads", "main 1", "large 6", "thread not known", "small 5"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	for i := range 300 {
		b.Add(f, b.Task(profile.Task{PID: 1, TID: 100 + i, Thread: "pool"}), int64(100*time.Second))
	}
	_, file = asSpeedscope(t, b.Profile(), SpeedscopeOptions{})
	if len(file.Profiles) != 202 || file.Profiles[0].Name != "all 304 threads, the 200 largest follow" ||
		file.Profiles[201].Name != "the other 104 threads" {
		t.Errorf("%d profiles, the first %q, the last %q", len(file.Profiles), file.Profiles[0].Name,
			file.Profiles[len(file.Profiles)-1].Name)
	}
	// All but main and 199 of the 100 s each: 101 of them, 30, 4 and 1 ns.
	if got, want := file.Profiles[201].Weights, []int64{101*int64(100*time.Second) + 35}; !slices.Equal(got, want) {
		t.Errorf("the other threads weigh %d, want %d", got, want)
	}
}

package flame

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// Below a floor of 100: d, e, and h with g, of which each got less although f as a whole got more.
func TestSpeedscopeCut(t *testing.T) {
	b := profile.NewBuilder(profile.SamplesCount)
	for stack, value := range map[string]int64{"main a": 700, "main b": 1, "main b c": 200, "main b d": 60,
		"main e": 40,
		"f g":    60, "f h": 50, "x": 7} {
		n := profile.NodeID(0)
		for name := range strings.FieldsSeq(stack) {
			n = b.Child(n, b.Frame(profile.Frame{Func: name, Module: -1}))
		}
		b.Add(n, -1, value)
	}
	for _, tt := range []struct {
		floor int64
		want  string
	}{
		{1, "main a 700; main b c 200; f g 60; main b d 60; f h 50; main e 40; x 7; main b 1"},
		{100, "main a 700; main b c 200; f (smaller) 110; main b (smaller) 60; main (smaller) 40; (smaller) 7; main " +
			"b 1"},
		{300, "main a 700; main (smaller) 301; (smaller) 117"},
		{5000, "(smaller) 1118"},
	} {
		s := newSpeedscope(io.Discard, b.Profile(), 0)
		s.prune(newFloorCut(&s.tree, s.self(), len(s.names)), tt.floor)
		var got []string
		for _, w := range s.whole() {
			text := ""
			for _, f := range slices.Backward(s.tree.Append(nil, w.stack)) {
				text += s.names[f].name + " "
			}
			got = append(got, fmt.Sprint(text, w.weight))
		}
		slices.SortStableFunc(got, byWeight)
		want := strings.Split(tt.want, "; ")
		slices.SortStableFunc(want, byWeight)
		if !slices.Equal(got, want) {
			t.Errorf("floor %d: got %q, want %q", tt.floor, got, want)
		}
	}
}

// byWeight puts equal ones in the order of their text.
func byWeight(a, b string) int {
	var x, y int
	fmt.Sscan(a[strings.LastIndexByte(a, ' '):], &x)
	fmt.Sscan(b[strings.LastIndexByte(b, ' '):], &y)
	if x != y {
		return y - x
	}
	return strings.Compare(a, b)
}

// crowded has eight threads of one process with thousands of stacks; each was seen often.
func crowded(seed uint64) *profile.Profile {
	r := rand.New(rand.NewPCG(seed, 2))
	b := profile.NewBuilder(profile.SamplesCount, profile.WallTime)
	p := b.Profile()
	p.Default = 1
	end := map[int]time.Duration{}
	for range 20_000 {
		task := b.Task(profile.Task{PID: 1, TID: 1 + min(r.IntN(20), r.IntN(20), 7), Process: "crowd", Thread: "one"})
		n := profile.NodeID(0)
		for depth := 3 + r.IntN(12); depth > 0; depth-- {
			n = b.Child(n, b.Frame(profile.Frame{Func: fmt.Sprintf("function_%d", min(r.IntN(300), r.IntN(300))),
				Module: -1}))
		}
		for range 1 + r.IntN(4) {
			took := time.Duration(1+r.IntN(3)) * time.Millisecond
			b.Add(n, task, 1, int64(took))
			p.Runs = append(p.Runs, profile.Run{Task: task, Stack: n, At: end[task], For: took})
			end[task] += took + time.Duration(r.IntN(2))*time.Millisecond
		}
	}
	return p
}

// TestSpeedscopeJoins: below each limit the file has all the time of every thread, and says what
// was joined.
func TestSpeedscopeJoins(t *testing.T) {
	p := crowded(1)
	total := p.Totals()[1]
	whole := map[string]int64{}
	for _, h := range profile.Hottest(p, 1) {
		whole[h.Name] = h.Total
	}
	for _, limit := range []int64{10_000_000, 2_000_000, 1_000_000, 200_000, 20_000} {
		var out bytes.Buffer
		var told []string
		if err := writeSpeedscope(&out, p, SpeedscopeOptions{Type: -1, Warn: func(s string) { told = append(told, s) }},
			limit); err != nil {
			t.Fatal(err)
		}
		checkSchema(t, "testdata/speedscope-1.25.0.schema.json", out.Bytes())
		var f speedscopeFile
		if err := json.Unmarshal(out.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		joined := limit < 10_000_000
		if int64(out.Len()) > limit || joined && int64(out.Len()) < limit/5 || len(told) > 0 != joined ||
			strings.Contains(f.Profiles[0].Name, "joined as (smaller)") != joined {
			t.Errorf("limit %d: %d bytes, told %q, first profile %q", limit, out.Len(), told, f.Profiles[0].Name)
		}
		t.Logf("limit %d: %d bytes, %d profiles, %d frames: %s", limit, out.Len(), len(f.Profiles),
			len(f.Shared.Frames),
			f.Profiles[0].Name)
		checkJoined(t, &f, total, whole)
	}
}

// checkJoined compares the sums of f with those of the profile that it was made of.
func checkJoined(t *testing.T, f *speedscopeFile, total int64, whole map[string]int64) {
	t.Helper()
	threads := int64(0)
	for i := range f.Profiles {
		one := &f.Profiles[i]
		sum := int64(0)
		got := map[string]int64{}
		for k, w := range one.Weights {
			if len(one.Samples[k]) == 0 {
				continue // a gap in time
			}
			sum += w
			seen := map[int]bool{}
			for _, frame := range one.Samples[k] {
				if !seen[frame] {
					got[f.Shared.Frames[frame].Name] += w
				}
				seen[frame] = true
			}
		}
		if i > 0 {
			threads += sum
			continue
		}
		if sum != total {
			t.Errorf("all threads have %d, want %d", sum, total)
		}
		for name, v := range got {
			if name != smallerName && v > whole[name] {
				t.Errorf("%s has %d, more than the %d it got", name, v, whole[name])
			}
		}
	}
	if threads != total {
		t.Errorf("the threads have %d, want %d", threads, total)
	}
}

// TestSpeedscopeLarge: 20,000 stacks of 1,001 frames would be 80 MB.
func TestSpeedscopeLarge(t *testing.T) {
	b := profile.NewBuilder(profile.SamplesCount)
	name := func(i int) profile.FrameID {
		return b.Frame(profile.Frame{Func: fmt.Sprintf("function_%05d", i), Module: -1})
	}
	n := profile.NodeID(0)
	for i := range 1000 {
		n = b.Child(n, name(i))
	}
	for i := range 20_000 {
		b.Add(b.Child(n, name(i)), -1, int64(1+i%50))
	}
	p := b.Profile()
	var out bytes.Buffer
	told := ""
	if err := WriteSpeedscope(&out, p, SpeedscopeOptions{Warn: func(s string) { told = s }}); err != nil {
		t.Fatal(err)
	}
	var f speedscopeFile
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 50_000_000 || out.Len() < 20_000_000 ||
		!strings.HasPrefix(told, "speedscope opens no large files: to stay below 50 MB, stacks below 0.00") {
		t.Errorf("%d bytes, told %q", out.Len(), told)
	}
	sum := int64(0)
	for _, w := range f.Profiles[0].Weights {
		sum += w
	}
	if want := p.Totals()[0]; sum != want {
		t.Errorf("the sum is %d, want %d", sum, want)
	}
}

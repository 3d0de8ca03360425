package flame

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// chain has that many calls below each other, and a sample in each.
func chain(depth int) *profile.Profile {
	b := profile.NewBuilder(profile.SamplesCount)
	n := profile.NodeID(0)
	for i := range depth {
		n = b.Child(n, b.Frame(profile.Frame{Func: fmt.Sprint("f", i%10), Module: -1}))
		b.Add(n, -1, 1)
	}
	return b.Profile()
}

// lineSum adds up the numbers that end lines.
func lineSum(t *testing.T, text string) (sum int64) {
	t.Helper()
	for line := range strings.Lines(text) {
		var v int64
		if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' '):], &v); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		sum += v
	}
	return sum
}

// A file whose stacks share their outer frames is small, and each line of folded text has all of them: what is too
// much is joined and counted, and said.
func TestFoldedTextIsBounded(t *testing.T) {
	wide := profile.NewBuilder(profile.SamplesCount)
	long := wide.Frame(profile.Frame{Func: strings.Repeat("x", 10_000), Module: -1})
	for i := range 500 {
		f := wide.Frame(profile.Frame{Func: fmt.Sprint("g", i), Module: -1})
		wide.Add(wide.Child(wide.Child(0, long), f), -1, int64(i))
	}
	for name, p := range map[string]*profile.Profile{"deep": chain(2000), "long names": wide.Profile()} {
		var whole bytes.Buffer
		if err := writeFolded(&whole, p, FoldedOptions{}, maxFoldedText); err != nil {
			t.Fatal(err)
		}
		sum := lineSum(t, whole.String())
		for _, limit := range []int64{int64(whole.Len()), int64(whole.Len()) - 1, int64(whole.Len()) / 3, 50_000, 40} {
			var out bytes.Buffer
			var said []string
			opt := FoldedOptions{Warn: func(s string) { said = append(said, s) }}
			if err := writeFolded(&out, p, opt, limit); err != nil {
				t.Fatal(err)
			}
			cut := limit < int64(whole.Len())
			if int64(out.Len()) > limit || lineSum(t, out.String()) != sum {
				t.Errorf("%s: %d bytes with sum %d, want at most %d and %d", name, out.Len(), lineSum(t, out.String()),
					limit, sum)
			}
			if got := strings.Contains(out.String(), smallerName+" "); got != cut || len(said) > 0 != cut {
				t.Errorf("%s: at most %d bytes of %d: joined %v, said %q", name, limit, whole.Len(), got, said)
			}
			if out.Len() == 0 || cut && limit > 45_000 && int64(out.Len()) < limit/3 {
				t.Errorf("%s: %d bytes where there is room for %d", name, out.Len(), limit)
			}
		}
	}
}

// So is the number of frames of all samples of pprof, which lists them for each.
func TestPprofFramesAreBounded(t *testing.T) {
	p := chain(200) // 20,100 frames
	p.Tasks = []profile.Task{{TID: 1}, {TID: 2}, {TID: 3}}
	for i := range p.Samples {
		p.Samples[i].Task = i % 3
	}
	diff := func(p *profile.Profile) *profile.Profile {
		d, err := profile.Compare(p, chain(150), profile.DiffOptions{Absolute: true})
		if err != nil {
			t.Fatal(err)
		}
		return d.Join()
	}
	for name, p := range map[string]*profile.Profile{"profile": p, "comparison": diff(p)} {
		frames := func(p *profile.Profile) (n int) {
			for _, s := range p.Samples {
				n += p.Tree.Depth(s.Stack)
			}
			return n
		}
		whole := frames(p)
		for _, limit := range []int{whole, whole - 1, whole / 2, 1000, 10} {
			said := 0
			short := shorten(p, int64(limit), func(string) { said++ })
			if got := frames(short); got > limit || limit < whole && got == whole || limit > 500 && got < limit/3 {
				t.Errorf("%s: %d frames, want at most %d of %d", name, got, limit, whole)
			}
			if err := short.CheckValid(); err != nil {
				t.Errorf("%s: at most %d: %v", name, limit, err)
			}
			for k := range p.Types {
				if total(short, k) != total(p, k) {
					t.Errorf("%s: at most %d: value %d: %d, want %d", name, limit, k, total(short, k), total(p, k))
				}
			}
			if (limit < whole) != (said == 1) {
				t.Errorf("%s: at most %d of %d: said %d times", name, limit, whole, said)
			}
		}
	}
}

func total(p *profile.Profile, k int) (sum int64) {
	for i := range p.Samples {
		sum += p.Value(i)[k]
	}
	return sum
}

package flame

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/flame/page"
	"github.com/fpstack/fpstack/profile"
)

// FuzzDraw holds that what a reader gave makes a well-formed picture and a page, the same each time.
func FuzzDraw(f *testing.F) {
	for _, seed := range readable(f) {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, data []byte, threads bool) {
		p, err := read(bytes.NewReader(data))
		if err != nil {
			return
		}
		opt := page.Options{Type: p.Default, Threads: threads, Static: true}
		for _, write := range []func(io.Writer, *profile.Profile, page.Options) error{page.SVG, page.HTML} {
			var first, second bytes.Buffer
			if err := write(&first, p, opt); err != nil {
				t.Fatal(err)
			}
			if err := write(&second, p, opt); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Fatalf("a second time: %d and %d bytes, %v", first.Len(), second.Len(), err)
			}
			if strings.Contains(first.String(), "<script") {
				t.Fatal("a script where there is none")
			}
			if !bytes.HasPrefix(first.Bytes(), []byte("<?xml")) {
				continue
			}
			dec := xml.NewDecoder(&first)
			for err == nil {
				_, err = dec.Token()
			}
			if err != io.EOF {
				t.Fatalf("at byte %d: %v", dec.InputOffset(), err)
			}
		}
		opt.Static = false
		if err := page.HTML(io.Discard, p, opt); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzCompare holds that a difference has the sums of its sides, in each form that has both.
func FuzzCompare(f *testing.F) {
	seeds := readable(f)
	for i, seed := range seeds {
		f.Add(seed, seeds[(i+1)%len(seeds)], false)
		f.Add(seed, seed, true)
	}
	f.Fuzz(func(t *testing.T, a, b []byte, absolute bool) {
		newer, err := read(bytes.NewReader(a))
		if err != nil {
			return
		}
		older, err := read(bytes.NewReader(b))
		if err != nil || newer.IsDiff() || older.IsDiff() {
			return
		}
		d, err := profile.Compare(newer, older, profile.DiffOptions{Absolute: absolute})
		if err != nil {
			return
		}
		var want [2]int64
		for i := range d.New.Samples {
			want[0] += d.OldValue(i)[d.New.Default]
			want[1] += d.New.Value(i)[d.New.Default]
		}
		typ := newer.TypeIndex(d.New.Types[d.New.Default].Type)
		if want[1] != newer.Totals()[typ] {
			t.Fatalf("sum of the newer side is %d, want %d", want[1], newer.Totals()[typ])
		}
		checkDiff(t, d, want)
		if err := page.SVG(io.Discard, nil, page.Options{Type: d.New.Default, Diff: d}); err != nil {
			t.Fatal(err)
		}
	})
}

// checkDiff reads d back from pprof, and compares the sums.
func checkDiff(t *testing.T, d *profile.Diff, want [2]int64) {
	t.Helper()
	var proto bytes.Buffer
	if err := WritePprofDiff(&proto, d, PprofOptions{}); err != nil {
		t.Fatal(err)
	}
	if want == [2]int64{} {
		return
	}
	back, err := read(&proto)
	if err != nil {
		t.Fatal(err)
	}
	if got := back.Totals(); want[0] != 0 && (got[back.Default-1] != want[0] || got[back.Default] != want[1]) {
		t.Fatalf("through pprof: sums %v, want %v", got, want)
	}
}

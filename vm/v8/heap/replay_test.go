package heap

import (
	"bytes"
	"compress/gzip"
	"encoding/gob"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
)

// recording is what was read of one process to name its frames.
type recording struct {
	Node   string
	Mode   string
	Frames []recordedFrame
	Want   []recordedTruth
	Stack  mem.Range
	Memory []mem.Range
	Codes  map[mem.Addr]mem.Addr
	Sizes  []byte
}

type recordedFrame struct{ FP, PC, Function mem.Addr }

type recordedTruth struct {
	Function, File, Receiver string
	Line, Column             int
}

// recorder keeps all bytes that are read through it.
type recorder struct {
	mem.Reader
	held map[mem.Addr][]byte
}

func (r *recorder) ReadMem(b []byte, a mem.Addr) (int, error) {
	n, err := r.Reader.ReadMem(b, a)
	if n > len(r.held[a]) {
		r.held[a] = slices.Clone(b[:n])
	}
	return n, err
}

// ranges are the bytes that were read, each once.
func (r *recorder) ranges() []mem.Range {
	var all []mem.Range
	for a, b := range r.held {
		all = append(all, mem.Range{Start: a, Data: b})
	}
	slices.SortFunc(all, func(a, b mem.Range) int { return int(int64(a.Start) - int64(b.Start)) })
	var out []mem.Range
	for _, next := range all {
		if n := len(out); n > 0 && next.Start <= out[n-1].End() {
			if more := next.End(); more > out[n-1].End() {
				out[n-1].Data = append(out[n-1].Data, next.Data[out[n-1].End()-next.Start:]...)
			}
			continue
		}
		out = append(out, mem.Range{Start: next.Start, Data: slices.Clone(next.Data)})
	}
	return out
}

// recorded are the processes of testdata/*.heap, by what they show: both encodings of positions, all layouts of code,
// inlined calls.
var recordings = []struct{ file, node, mode string }{
	{"18-baseline", "18.20.8", "baseline"},
	{"20-turbofan", "20.20.2", "turbofan"},
	{"22-interpreter", "22.23.3", "interpreter"},
	{"22-maglev", "22.0.0", "maglev"},
	{"24-maglev", "24.21.0", "maglev"},
	{"26-baseline", "26.10.0", "baseline"},
	{"26-turbofan", "26.10.0", "turbofan"},
}

func modeOf(name string) mode {
	return modes[slices.IndexFunc(modes, func(m mode) bool { return m.name == name })]
}

// TestReplay names recorded processes, without node. With -update they are recorded again.
func TestReplay(t *testing.T) {
	for _, tc := range recordings {
		t.Run(tc.file, func(t *testing.T) {
			path := "testdata/" + tc.file + ".heap"
			if *update {
				record(t, path, tc.node, modeOf(tc.mode))
			}
			p, r := replay(t, path)
			var frames []jsFrame
			for _, f := range r.Frames {
				frames = append(frames, jsFrame{f.FP, f.PC, f.Function})
			}
			var want []truthFrame
			for _, w := range r.Want {
				want = append(want, truthFrame{w.Function, w.File, w.Receiver, w.Line, w.Column})
			}
			compareFrames(t, p, frames, want, modeOf(r.Mode))
		})
	}
}

func replay(t testing.TB, path string) (*process, recording) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var r recording
	if err := gob.NewDecoder(z).Decode(&r); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, sizes: r.Sizes, codes: r.Codes, sp: r.Stack.Start, stack: r.Stack.Data}
	p.use(layoutOf(t, r.Node), mem.NewOverlay(nil, r.Memory...), nil)
	return p, r
}

func record(t *testing.T, path, node string, m mode) {
	t.Helper()
	p, truth := start(t, node, slices.Concat(m.flags(node), []string{"testdata/truth.js"}, m.script)...)
	r := recording{Node: node, Mode: m.name, Codes: p.codes, Sizes: p.sizes}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.frames() {
		r.Frames = append(r.Frames, recordedFrame{f.fp, f.pc, f.function})
		p.codeAt(f.pc)
	}
	seen := &recorder{Reader: p.memory, held: map[mem.Addr][]byte{}}
	p.use(p.Layout, seen, nil)
	for i, f := range r.Frames {
		low, high := f.FP-64, f.FP+64
		if i == 0 {
			r.Stack.Start = low
		}
		p.expand(jsFrame{f.FP, f.PC, f.Function})
		for a := low; a < high; a += 8 {
			for len(r.Stack.Data) <= int(a-r.Stack.Start) { // words between frames are 0
				r.Stack.Data = append(r.Stack.Data, make([]byte, 8)...)
			}
			le.PutUint64(r.Stack.Data[a-r.Stack.Start:], p.word(a))
		}
	}
	for _, w := range truth {
		r.Want = append(r.Want, recordedTruth{w.function, w.file, w.receiver, w.line, w.column})
	}
	r.Memory = anonymous(seen.ranges(), folder)
	for i := range r.Want {
		r.Want[i].File = strings.ReplaceAll(r.Want[i].File, folder, home(folder))
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err := gob.NewEncoder(z).Encode(r); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// home stands in recordings for the folder of the one who made them.
func home(folder string) string {
	const text = "/home/developer/example/of/a/folder/that/is/long/enough/for/every/checkout"
	return "/home" + text[len("/home"):][:len(folder)-len("/home")]
}

func anonymous(ranges []mem.Range, folder string) []mem.Range {
	for _, r := range ranges {
		for at := 0; ; { // ends: each round goes behind a hit
			i := bytes.Index(r.Data[at:], []byte(folder))
			if i < 0 {
				break
			}
			copy(r.Data[at+i:], home(folder))
			at += i + len(folder)
		}
	}
	return ranges
}

package heap

import (
	"encoding/binary"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/work"
)

// damaged is a recorded memory some of whose words are others: a heap that is written while it is read, or hostile.
type damaged struct {
	mem.Reader
	words map[mem.Addr]uint64
	all   bool // every word that was not recorded is one of words, too
}

func (d *damaged) ReadMem(b []byte, a mem.Addr) (int, error) {
	n, err := d.Reader.ReadMem(b, a)
	if err != nil && d.all {
		for i := range b {
			b[i] = byte(d.words[0] >> (8 * (uint64(a+mem.Addr(i)) % 8)))
		}
		n, err = len(b), nil
	}
	for i := range n {
		at := a + mem.Addr(i)
		if word, ok := d.words[at&^7]; ok {
			b[i] = byte(word >> (8 * (at & 7)))
		}
	}
	return n, err
}

// exercise calls each reader on a frame as the walk does, whatever it returns.
func exercise(t testing.TB, p *process, f jsFrame) {
	t.Helper()
	_, _ = p.Follow(f.function)
	if s, err := p.FunctionAt(f.function); err == nil {
		exerciseFunction(t, p.Heap, Call{s, 1})
	}
	receiver := Tagged(p.word(f.fp + mem.Addr(p.Frame.Args)))
	if m, ok := p.MethodOf(receiver, f.function); ok {
		checkText(t, m.Class)
		checkText(t, m.Key)
	}
	waiting, _ := p.Awaiting(f.function)
	if len(waiting) > maxAwaiting {
		t.Errorf("%d functions wait", len(waiting))
	}
	for _, g := range waiting {
		_, _ = p.Suspended(g)
	}
	if name, ok := p.OwnName(f.function); ok {
		checkText(t, name)
	}
	if b, err := p.BytecodeOf(Tagged(p.word(f.fp + mem.Addr(p.Frame.BytecodeArray)))); err == nil {
		exerciseBytecode(p.Heap, p.sizes, b, nil)
	}
	c, err := p.CodeOf(TagOf(p.codes[f.pc]))
	if err != nil {
		return
	}
	if table, err := p.Table(c.Positions); err == nil {
		if b, err := p.BytecodeOf(c.Deopt); err == nil {
			exerciseBytecode(p.Heap, p.sizes, b, table)
		}
		if at, ok, err := p.PositionAt(table, 50); ok && err == nil {
			calls, _ := p.Calls(c, at)
			if len(calls) > maxInlined+1 {
				t.Errorf("%d calls in one", len(calls))
			}
			for _, call := range calls {
				exerciseFunction(t, p.Heap, call)
			}
		}
	}
	_, _ = p.CodeFunction(c)
	exerciseCodeMap(t, p.Heap, c, int(f.pc-c.Start))
}

func exerciseCodeMap(t testing.TB, h Heap, c Code, at int) {
	t.Helper()
	m, err := h.CodeMapOf(c)
	if err != nil {
		return
	}
	before, behind := m.Around(at)
	called, _ := m.Returns(at)
	var calls []Call
	for _, i := range []int{before, behind, called} {
		places, _ := m.Frames(h, i)
		if len(places) > maxInlined {
			t.Errorf("%d frames in one", len(places))
		}
		calls = calls[:0]
		for _, p := range places {
			calls = append(calls, Call{p.Shared, m.Offset(h, p)})
			exerciseFunction(t, h, calls[len(calls)-1])
			_ = m.Offsets(h, p, p.Bytecode+10)
		}
	}
	if len(calls) > 0 {
		_ = m.Repeats(h, at, calls)
		_ = m.Between(h, calls[0], calls[len(calls)-1])
	}
}

// FuzzTranslation: lists of frames of any bytes, in all formats.
func FuzzTranslation(f *testing.F) {
	f.Add([]byte{14, 0, 2, 2, 1, 6, 2, 4, 0, 38, 2, 47}, 0)
	f.Add([]byte{12, 0, 2, 2, 1, 6, 2, 4, 12, 5, 2, 2, 42}, 8)
	f.Fuzz(func(t *testing.T, table []byte, at int) {
		for _, format := range translationFormats {
			if format.translationFormat == nil {
				continue
			}
			d := &Deopts{format: format.translationFormat, table: table}
			frames, err := d.translate(at)
			if err == nil && (len(frames) == 0 || len(frames) > maxInlined) {
				t.Errorf("%d frames", len(frames))
			}
		}
	})
}

// FuzzChecks: instructions of any bytes.
func FuzzChecks(f *testing.F) {
	f.Add([]byte("\x90\x0f\x84\x06\x00\x00\x00\x90\xe9\x04\x00\x00\x00\x90\xe9\xf4\xff\xff\xff"), 8)
	f.Fuzz(func(t *testing.T, code []byte, at int) {
		d := &Deopts{exits: len(code), translations: make([]int, 3)}
		m := &CodeMap{Deopts: d, calls: []Safepoint{{Return: len(code) / 2, Deopt: 2, Exit: -1}}}
		m.findChecks(code)
		for _, i := range []int{at, 0, len(code), len(code) / 3} {
			before, behind := m.Around(i)
			if before >= len(d.translations) || behind >= len(d.translations) {
				t.Errorf("%d, %d", before, behind)
			}
			if i >= 0 && m.origin(i) > max(i, len(code)) {
				t.Errorf("%d comes from %d", i, m.origin(i))
			}
		}
	})
}

func exerciseBytecode(h Heap, sizes Sizes, b Bytecode, lengths []byte) {
	if code, err := h.Instructions(b); err == nil {
		_, _ = BaselineOffset(lengths, code, sizes, 100)
	}
	if table, err := h.Table(b.Positions); err == nil {
		_, _, _ = h.PositionAt(table, 10)
	}
}

func exerciseFunction(t testing.TB, h Heap, c Call) {
	t.Helper()
	if name, start, err := h.Describe(c.Shared); err == nil {
		checkText(t, name)
		if start < -1 {
			t.Errorf("%q starts at %d", name, start)
		}
	}
	p, ok, err := h.ScriptOf(c.Shared)
	if err != nil || !ok {
		return
	}
	checkText(t, p.Name)
	l, err := h.LinesOf(p)
	if err != nil {
		return
	}
	if len(l.ends) > maxLines+1 {
		t.Errorf("%d lines", len(l.ends))
	}
	line, column, ok := l.At(c.Offset)
	if line -= l.lineOffset; line == 1 {
		column -= l.columnOffset
	}
	if ok && (line < 1 || column < 1) {
		t.Errorf("%d is at %d:%d", c.Offset, line, column)
	}
}

func checkText(t testing.TB, s string) {
	t.Helper()
	if len(s) > utf8.UTFMax*MaxName || !utf8.ValidString(s) {
		t.Errorf("a name of %d bytes, %.40q", len(s), s)
	}
}

// FuzzHeap damages words of recorded heaps: 10 bytes each, which word and what it is then.
func FuzzHeap(f *testing.F) {
	f.Add(uint8(0), false, []byte{})
	f.Add(uint8(1), true, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add(uint8(5), false, []byte{40, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	paths, err := filepath.Glob("testdata/*.heap")
	if err != nil || len(paths) == 0 {
		f.Fatalf("%v, %v", paths, err)
	}
	var all []*process
	var records []recording
	for _, path := range paths {
		p, r := replay(f, path)
		all, records = append(all, p), append(records, r)
	}
	f.Fuzz(func(t *testing.T, which uint8, everywhere bool, changes []byte) {
		i := int(which) % len(all)
		p, r := *all[i], &records[i]
		d := &damaged{p.memory, map[mem.Addr]uint64{}, everywhere}
		for at := 0; at+10 <= len(changes); at += 10 {
			span := r.Memory[int(changes[at])%len(r.Memory)]
			word := span.Start + mem.Addr(int(changes[at+1])*8%len(span.Data))
			d.words[word&^7] = binary.LittleEndian.Uint64(changes[at+2:])
			d.words[0] = binary.LittleEndian.Uint64(changes[at+2:])
		}
		p.t = t
		p.use(p.Layout, d, work.New(1<<26, 0))
		for _, frame := range r.Frames {
			exercise(t, &p, jsFrame{frame.FP, frame.PC, frame.Function})
		}
	})
}

// TestHostileHeap: memory that looks like anything anywhere costs a bounded amount of work a frame.
func TestHostileHeap(t *testing.T) {
	p, r := replay(t, "testdata/26-turbofan.heap")
	for _, word := range []uint64{0, 1, 8, 0x100000001, 0x2900000001, r.wordOf(t, p.Types.Shared),
		r.wordOf(t, p.Types.Scope), r.wordOf(t, p.Types.FixedArray), r.wordOf(t, 41), r.wordOf(t, 43),
		0x1000000000000, 0xffffffffffffffff} {
		q := *p
		const steps = 1 << 30
		b := work.New(steps, 0)
		q.use(p.Layout, &damaged{p.memory, map[mem.Addr]uint64{0: word}, true}, b)
		for _, f := range r.Frames {
			exercise(t, &q, jsFrame{f.FP, f.PC, f.Function})
			exercise(t, &q, jsFrame{f.FP, f.PC, 0x123450})
		}
		left, _ := b.Left()
		if perFrame := (steps - left) / int64(len(r.Frames)); perFrame > 16*MaxSource {
			t.Errorf("word %#x: %d steps a frame", word, perFrame)
		}
	}
}

// wordOf is the map of an object of that type in the recording.
func (r *recording) wordOf(t testing.TB, typ uint16) uint64 {
	t.Helper()
	h := reading(layoutOf(t, r.Node), mem.NewOverlay(nil, r.Memory...), nil)
	for _, span := range r.Memory {
		for a := span.Start; a+8 <= span.End(); a += 8 {
			if got, err := h.Type(a); err == nil && got == typ {
				v, _ := h.Word(a, 0)
				return uint64(v)
			}
		}
	}
	t.Logf("no object of type %d was recorded", typ)
	return 0
}

// FuzzPositions: tables of any bytes, in both encodings.
func FuzzPositions(f *testing.F) {
	f.Add([]byte{1, 8, 0x80, 0x01, 5}, 10)
	old, newer := layoutOf(f, "22.23.3"), layoutOf(f, "26.10.0")
	f.Fuzz(func(t *testing.T, table []byte, offset int) {
		for _, l := range []*Layout{old, newer} {
			p, ok, _ := l.PositionAt(table, offset)
			if ok && (p.Offset < -1 || p.Inlining < 0) {
				t.Errorf("%+v", p)
			}
		}
	})
}

// FuzzBaseline: tables of any bytes.
func FuzzBaseline(f *testing.F) {
	f.Add([]byte{10, 4, 2}, []byte{4, 5, 0}, []byte{1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 5}, 12)
	f.Fuzz(func(t *testing.T, lengths, code, sizes []byte, pc int) {
		if at, ok := BaselineOffset(lengths, code, sizes, pc); ok && (at < 0 || at >= len(code)) {
			t.Errorf("bytecode %d of %d", at, len(code))
		}
	})
}

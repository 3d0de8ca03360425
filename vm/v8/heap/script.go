package heap

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
)

// Script is a file, an eval or a module of V8 itself.
type Script struct {
	Addr mem.Addr
	// Name is a path, a URL or "node:internal/…"; "<eval>" for text that eval and the like compiled.
	Name string
	// Source and lineEnds refer to the text, and to where its lines end if V8 has been asked for a line.
	Source, lineEnds Tagged
	// LineOffset and ColumnOffset are added to lines and to columns of the first line: text that is a part of a page.
	LineOffset, ColumnOffset int
}

// Eval is the name of a script that has none.
const Eval = "<eval>"

// ScriptOf reads the Script of a function; false for a builtin, which has none. Scripts are old and hardly move, Source
// and lineEnds are words of it.
func (h Heap) ScriptOf(s Shared) (Script, bool, error) {
	a, ok := s.Script.Object()
	if !ok {
		return Script{}, false, nil
	}
	switch typ, err := h.Type(a); {
	case err != nil:
		return Script{}, false, err
	case typ == h.Types.Oddball:
		return Script{}, false, nil
	case typ != h.Types.Script:
		return Script{}, false, fmt.Errorf("%w: the script of the function at %#x has type %d", ErrMoved,
			uint64(s.Addr), typ)
	}
	p, err := h.scriptAt(a)
	return p, err == nil, err
}

// Again reads the words of p again, which the garbage collector changes when it moves what they refer to.
func (h Heap) Again(p Script) (Script, error) {
	a, err := h.object(TagOf(p.Addr), "script", h.Types.Script)
	if err != nil {
		return p, err
	}
	return h.scriptAt(a)
}

func (h Heap) scriptAt(a mem.Addr) (Script, error) {
	p, f := Script{Addr: a}, &h.Layout.Script
	var b [64]byte
	if err := h.read(b[:], a, 0); err != nil {
		return p, err
	}
	word := func(offset int32) Tagged { return Tagged(binary.LittleEndian.Uint64(b[offset:])) }
	p.Source, p.lineEnds = word(f.Source), word(f.LineEnds)
	p.LineOffset, _ = word(f.LineOffset).Int()
	p.ColumnOffset, _ = word(f.ColumnOffset).Int()
	name, err := h.scriptName(word(f.Name))
	p.Name = name
	return p, err
}

// SourceURL is what the text of p calls itself, "" for nothing.
func (h Heap) SourceURL(p Script) (string, error) {
	word, n, err := h.said(p, h.Layout.Script.SourceURL)
	if n == 0 || err != nil {
		return "", err
	}
	return h.String(word, MaxName)
}

// ErrLong says that a map is larger than was asked for.
var ErrLong = errors.New("its source map is too long")

// MapURL is the source map that the text of p names, which may be inside of the URL, "" for none. It fails with
// [ErrLong] where that has more than most characters, or 16 MB.
func (h Heap) MapURL(p Script, most int) (string, error) {
	word, n, err := h.said(p, h.Layout.Script.MapURL)
	switch {
	case n == 0 || err != nil:
		return "", err
	case n > uint64(min(most, MaxSource)):
		return "", ErrLong
	}
	return h.String(word, int(n))
}

// said is a string that p has at offset, and its length, 0 if it has none there.
func (h Heap) said(p Script, offset int32) (word Tagged, length uint64, err error) {
	word, err = h.Word(p.Addr, offset)
	if err != nil {
		return 0, 0, err
	}
	a, ok := word.Object()
	if !ok {
		return 0, 0, nil
	}
	if typ, err := h.Type(a); err != nil || typ >= h.Types.FirstNonstring {
		return 0, 0, err
	}
	n, err := h.uint(a, h.Strings.Length, 4)
	return word, n, err
}

// TextLength is that of the text of p, UTF-16 units.
func (h Heap) TextLength(p Script) (int, error) {
	a, err := h.object(TagOf(p.Addr), "script", h.Types.Script)
	if err != nil {
		return 0, err
	}
	word, err := h.Word(a, h.Layout.Script.Source)
	if err != nil {
		return 0, err
	}
	text, ok := word.Object()
	if !ok {
		return 0, ErrMoved
	}
	if typ, err := h.Type(text); err != nil || typ >= h.Types.FirstNonstring {
		return 0, errors.Join(ErrMoved, err)
	}
	n, err := h.uint(text, h.Strings.Length, 4)
	return int(n), err
}

func (h Heap) scriptName(t Tagged) (string, error) {
	a, ok := t.Object()
	if !ok {
		return Eval, nil
	}
	typ, err := h.Type(a)
	if err != nil || typ >= h.Types.FirstNonstring {
		return Eval, err
	}
	name, err := h.String(t, MaxName)
	if name == "" {
		name = Eval
	}
	return name, err
}

// Lines are the ends of the lines of a script, UTF-16 units from its start.
type Lines struct {
	ends                     []uint32
	lineOffset, columnOffset int
}

// Size is about how much memory l takes, bytes.
func (l *Lines) Size() int { return 4 * cap(l.ends) }

// maxLines bounds the lines of a script.
const maxLines = 4 << 20

// LinesOf reads where lines of p end: what V8 has counted itself, else the text is read, up to [MaxSource]. Neither
// changes while the Script lives. The result takes four bytes a line.
func (h Heap) LinesOf(p Script) (*Lines, error) {
	l := &Lines{lineOffset: p.LineOffset, columnOffset: p.ColumnOffset}
	if a, err := h.object(p.lineEnds, "array of line ends", h.Types.FixedArray); err == nil {
		if l.ends, err = h.lineEnds(a); err == nil && len(l.ends) > 0 {
			return l, nil
		}
	}
	var c lineCounter
	if err := h.Units(p.Source, MaxSource, c.add); err != nil {
		return nil, err
	}
	if l.ends = c.finish(); len(l.ends) > maxLines {
		return nil, fmt.Errorf("count lines of %q: there are more than %d", p.Name, maxLines)
	}
	return l, nil
}

// lineEnds reads an array of growing small integers.
func (h Heap) lineEnds(a mem.Addr) ([]uint32, error) {
	n, err := h.length(a, maxLines)
	if err != nil {
		return nil, err
	}
	b := make([]byte, min(8*n, atOnce))
	ends := make([]uint32, 0, min(n, atOnce))
	for len(ends) < n {
		b = b[:min(8*(n-len(ends)), len(b))]
		if err := h.read(b, a, h.ArrayData+int32(8*len(ends))); err != nil {
			return nil, err
		}
		for i := 0; i < len(b); i += 8 {
			v, ok := Tagged(binary.LittleEndian.Uint64(b[i:])).Int()
			if !ok || v < 0 || len(ends) > 0 && uint32(v) <= ends[len(ends)-1] {
				return nil, fmt.Errorf("%w: line %d by the array at %#x ends at %d", ErrMoved, len(ends)+1, uint64(a),
					v)
			}
			ends = append(ends, uint32(v))
		}
	}
	return ends, nil
}

// lineCounter finds the ends of lines in text that comes in pieces: at \n, at \r without \n behind it, and at U+2028
// and U+2029. The end of the text is one too. Source: String::CalculateLineEnds and IsLineTerminatorSequence in V8.
type lineCounter struct {
	ends []uint32
	at   uint32
	cr   bool // the last unit was \r
}

func (c *lineCounter) add(piece []byte, wide bool) {
	if !wide {
		for _, u := range piece {
			c.unit(uint16(u))
		}
		return
	}
	for ; len(piece) >= 2; piece = piece[2:] {
		c.unit(binary.LittleEndian.Uint16(piece))
	}
}

func (c *lineCounter) unit(u uint16) {
	if c.cr && u != '\n' {
		c.end(c.at - 1)
	}
	switch c.cr = false; u {
	case '\r':
		c.cr = true
	case '\n', 0x2028, 0x2029:
		c.end(c.at)
	}
	c.at++
}

func (c *lineCounter) end(at uint32) {
	if len(c.ends) <= maxLines { // one more says that there are too many
		c.ends = append(c.ends, at)
	}
}

func (c *lineCounter) finish() []uint32 {
	if c.cr {
		c.end(c.at - 1)
	}
	c.end(c.at)
	return c.ends
}

// At is the line and column of the text at offset, both from 1; false if offset lies behind the text.
func (l *Lines) At(offset int) (line, column int, ok bool) {
	n := 0
	if offset < 0 || len(l.ends) == 0 || uint64(offset) > uint64(l.ends[len(l.ends)-1]) {
		return 0, 0, false
	}
	for low, high := 0, len(l.ends); low < high; { // ends: high-low gets smaller
		if at := int(uint(low+high) / 2); int(l.ends[at]) < offset {
			low, n = at+1, at+1
		} else {
			high = at
		}
	}
	if column = offset + l.columnOffset; n > 0 {
		column = offset - int(l.ends[n-1]) - 1
	}
	return n + 1 + l.lineOffset, column + 1, true
}

package heap

import "errors"

// ErrTable says that a table of positions ends within an entry or has numbers that are none.
var ErrTable = errors.New("a table of positions is damaged")

// Position is what a table says of code from an offset on.
type Position struct {
	// Offset is that of the source text in its script, UTF-16 units from 0; -1 where there is none.
	Offset int
	// Inlining is the number of the inlined call that the code belongs to, from 1; 0 is none, and always so in
	// bytecode.
	Inlining int
}

// PositionAt looks up the position of the code at offset, bytes from the start of bytecode or instructions: the last
// entry that starts there or before, without those of V8's own source. It is false if there is none. An offset that is
// a return address is given less 1.
//
// Format: pairs of numbers, each relative to the entry before; the code offset begins at -1. In V8 up to 13.6 a code
// offset is zig-zag, and negative, less 1, if the position is no statement's. From 14.1 on it is unsigned, with two
// bits of flags below; no Node.js has a V8 between the two. Source: src/codegen/source-position-table.cc.
func (l *Layout) PositionAt(table []byte, offset int) (p Position, ok bool, err error) {
	err = l.eachPosition(table, func(code int64, at Position) bool {
		if code > int64(offset) {
			return false
		}
		p, ok = at, true
		return true
	})
	return p, ok, err
}

// maxOffsets bounds the places between two that are looked at.
const maxOffsets = 1 << 12

// offsetsIn are those of the text in effect from one offset of code to another.
func (l *Layout) offsetsIn(table []byte, from, to int) (out []int, err error) {
	err = l.eachPosition(table, func(code int64, at Position) bool {
		switch {
		case code > int64(to):
			return false
		case code <= int64(from):
			out = out[:0]
		}
		out = append(out, at.Offset)
		return len(out) <= maxOffsets
	})
	if len(out) > maxOffsets {
		return nil, ErrTable
	}
	return out, err
}

// eachPosition calls f with the entries of a table, and where in the code they begin, until it returns false.
func (l *Layout) eachPosition(table []byte, f func(code int64, p Position) bool) error {
	code, source := int64(-1), int64(0)
	for r := (vlq{b: table}); len(r.b) > 0; { // ends: each number takes a byte
		delta := l.codeDelta(&r)
		source += r.signed()
		if code += delta; r.err != nil || delta < 0 {
			return ErrTable
		}
		if external := source&1 != 0; !external && !f(code, positionOf(uint64(source))) {
			break
		}
	}
	return nil
}

// codeDelta reads the first number of an entry.
func (l *Layout) codeDelta(r *vlq) int64 {
	if l.Version.AtLeast(14, 0) {
		const flags = 2
		return int64(r.unsigned() >> flags)
	}
	if d := r.signed(); d < 0 {
		return -(d + 1)
	} else {
		return d
	}
}

// positionOf takes the fields of class SourcePosition in src/codegen/source-position.h apart.
func positionOf(v uint64) Position {
	return Position{Offset: int(v>>1&(1<<30-1)) - 1, Inlining: int(v >> 31 & (1<<16 - 1))}
}

// vlq reads numbers of seven bits a byte, low ones first; the eighth says that more follow.
type vlq struct {
	b   []byte
	err error
}

func (r *vlq) unsigned() (v uint64) {
	for shift := 0; shift < 64; shift += 7 {
		if len(r.b) == 0 {
			break
		}
		c := r.b[0]
		r.b = r.b[1:]
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.b, r.err = nil, ErrTable
	return 0
}

// signed reads a zig-zag number: 0, -1, 1, -2 and on.
func (r *vlq) signed() int64 {
	v := r.unsigned()
	return int64(v>>1) ^ -int64(v&1)
}

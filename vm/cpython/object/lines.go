package object

// Place is where in its file an instruction comes from: the line, and the column from 1 on, 0 where that is not known.
type Place struct{ Line, Column int }

// PlaceAt looks up the instruction at offset, in bytes, in the line table of a code object whose first line is given.
// An instruction that belongs to no line, or comes before the first, has the first line.
func (l *Layout) PlaceAt(table []byte, offset, firstLine int) Place {
	line, column, ok := 0, 0, false
	switch {
	case offset < 0:
	case l.Version.Minor <= 9:
		line, ok = lnotab(table, offset, firstLine)
	case l.Version.Minor == 10:
		line, ok = lineRanges(table, offset, firstLine)
	default:
		line, column, ok = locations(table, offset, firstLine)
	}
	if !ok || line <= 0 {
		return Place{Line: max(firstLine, 0)}
	}
	return Place{line, column}
}

// lnotab reads pairs of an unsigned step in bytes and a signed step in lines.
// Source: Objects/lnotab_notes.txt of 3.9.
func lnotab(table []byte, offset, line int) (int, bool) {
	for at := 0; len(table) >= 2; table = table[2:] {
		if at += int(table[0]); at > offset {
			break
		}
		line += int(int8(table[1]))
	}
	return line, true
}

// lineRanges reads pairs of a length in bytes and a signed step in lines, -128 for no line.
// Source: Objects/lnotab_notes.txt of 3.10.
func lineRanges(table []byte, offset, line int) (int, bool) {
	const none = -128
	for end := 0; len(table) >= 2; table = table[2:] {
		end += int(table[0])
		step := int(int8(table[1]))
		if step != none {
			line += step
		}
		if offset < end {
			return line, step != none
		}
	}
	return 0, false
}

// locations reads the location table. Source: Objects/locations.md of 3.11 (Objects/locations.md, InternalDocs/
// code_objects.md later).
func locations(table []byte, offset, line int) (int, int, bool) {
	const unit = 2 // bytes of an instruction
	for at := 0; len(table) > 0; {
		head := table[0]
		if head&0x80 == 0 {
			return 0, 0, false
		}
		kind, end := int(head>>3&0xf), at+unit*(int(head&7)+1)
		r := varints{table[1:]}
		step, column, has := r.location(kind)
		line += step
		if offset < end {
			return line, column, has && offset >= at
		}
		at = end
		// A first byte has its top bit set, and no other has.
		for table = table[1:]; len(table) > 0 && table[0]&0x80 == 0; table = table[1:] {
		}
	}
	return 0, 0, false
}

type varints struct{ rest []byte }

func (r *varints) byte() int {
	if len(r.rest) == 0 {
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return int(b)
}

// unsigned reads 6 bits a byte, the lowest first; 0x40 says that more follow.
func (r *varints) unsigned() int {
	v := 0
	for shift := 0; shift < 30; shift += 6 {
		b := r.byte()
		v |= (b & 0x3f) << shift
		if b&0x40 == 0 {
			break
		}
	}
	return v
}

func (r *varints) signed() int {
	v := r.unsigned()
	if v&1 != 0 {
		return -(v >> 1)
	}
	return v >> 1
}

// location reads an entry of that kind: its step in lines and its column, and whether it has a line.
func (r *varints) location(kind int) (step, column int, has bool) {
	const oneLine, noColumns, long, none = 10, 13, 14, 15
	switch {
	case kind == none:
		return 0, 0, false
	case kind == long:
		step = r.signed()
		r.unsigned() // of the last line
		return step, r.unsigned(), true
	case kind == noColumns:
		return r.signed(), 0, true
	case kind >= oneLine:
		return kind - oneLine, r.byte() + 1, true
	}
	return 0, (kind<<3 | r.byte()>>4&7) + 1, true
}

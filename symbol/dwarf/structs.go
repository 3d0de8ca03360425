package dwarf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/fpstack/fpstack/work"
)

// Struct is the layout of a structure: where each member with a name begins, bytes from its start.
type Struct struct {
	Size    int64
	Members map[string]int64
}

// Wanted says which structures [Structs] looks for.
type Wanted struct {
	Unit  string   // the name of the units that they are in
	Names []string // DW_AT_name of each
}

const (
	// maxStructUnit bounds one unit that is read for its types, bytes.
	maxStructUnit = 64 << 20
	// maxMembers bounds the members of one structure.
	maxMembers = 1 << 12
)

// Structs reads the layouts of structure types out of info, a .debug_info that is read from its start and no further
// than it takes: linkers of some languages put all types of one package side by side. abbrev is .debug_abbrev. Names
// are found where entries hold them themselves (DW_FORM_string), as Go's linker writes them, and structures where they
// are not inside of others. Members of bit fields are left out. b bounds the work; nil: nothing does.
//
// It returns those that were found, with an error where one is missing.
// Source: DWARF 5, 5.7 and 7.5.
func Structs(info io.Reader, abbrev []byte, big bool, want Wanted, b *work.Budget) (map[string]Struct, error) {
	s := &structs{want: want, found: map[string]Struct{}}
	for len(s.found) < len(want.Names) {
		unit, err := nextUnit(info, big)
		if err == io.EOF {
			break
		}
		if err != nil {
			return s.found, fmt.Errorf("parse .debug_info: %w", err)
		}
		d := New(Object{Big: big, Budget: b, Section: func(name string) ([]byte, error) {
			switch name {
			case ".debug_info":
				return unit, nil
			case ".debug_abbrev":
				return abbrev, nil
			}
			return nil, nil
		}})
		d.begin()
		if u := d.unit(place{}); u != nil && u.readRoot() && u.str(u.root.name) == want.Unit && u.open() {
			s.read(u)
		}
		if err := d.end(); err != nil {
			return s.found, err
		}
	}
	for _, name := range want.Names {
		if _, ok := s.found[name]; !ok {
			return s.found, fmt.Errorf("parse .debug_info: no structure %s in unit %q", name, want.Unit)
		}
	}
	return s.found, nil
}

// nextUnit reads one unit with its header. It is io.EOF where there are no more.
func nextUnit(info io.Reader, big bool) ([]byte, error) {
	var order binary.ByteOrder = binary.LittleEndian
	if big {
		order = binary.BigEndian
	}
	head := make([]byte, 4, 12)
	if _, err := io.ReadFull(info, head); err != nil {
		return nil, err
	}
	size := uint64(order.Uint32(head))
	if size == 0xffffffff {
		head = head[:12]
		if _, err := io.ReadFull(info, head[4:]); err != nil {
			return nil, err
		}
		size = order.Uint64(head[4:])
	}
	if size > maxStructUnit {
		return nil, fmt.Errorf("unit of %d bytes", size)
	}
	var unit bytes.Buffer
	unit.Write(head)
	if _, err := io.CopyN(&unit, info, int64(size)); err != nil { // room is made as bytes come
		return nil, fmt.Errorf("read unit of %d bytes: %w", size, err)
	}
	return unit.Bytes(), nil
}

// structs goes through the entries of units for structures.
type structs struct {
	want  Wanted
	found map[string]Struct
}

// read goes through the entries of u that are not inside of others but the root, and of structures wanted their
// members.
func (s *structs) read(u *unit) {
	r := u.reader(u.first)
	depth := 0
	into := "" // the structure around the entry
	for first := true; first || depth > 0; first = false {
		start := r.off
		code := r.uleb()
		if code == 0 {
			depth--
			if depth == 1 {
				into = ""
			}
		} else if children, ok := s.entry(u, &r, code, depth, &into); !ok {
			return
		} else if children {
			depth++
		}
		if r.bad || depth > maxDepth || !u.d.spend(r.off-start) || len(s.found) == len(s.want.Names) && into == "" {
			return
		}
	}
}

// entry reads one entry behind its code. into is the structure that it is a member of, and becomes the one that it is.
func (s *structs) entry(u *unit, r *reader, code uint64, depth int, into *string) (children, ok bool) {
	a := u.table.get(code)
	if a == nil {
		return false, false
	}
	structure := depth == 1 && a.tag == tagStructure
	if !structure && (depth != 2 || *into == "" || a.tag != tagMember) {
		next, sibling, ok := u.layout.pass(a.steps, r.b, r.off, u.d.o.Big)
		r.off = min(next, len(r.b))
		to := u.at.off + sibling
		if ok && sibling != 0 && a.children && depth > 0 && to > uint64(r.off) && to <= u.end {
			r.off = int(to)
			return false, true
		}
		return a.children, ok
	}
	var name string
	var at, size value
	for _, attr := range a.attrs {
		v := u.layout.read(r, attr.form, attr.implicit)
		switch attr.name {
		case atName:
			name = u.str(v)
		case atByteSize:
			size = v
		case atMemberLocation:
			at = v
		}
	}
	switch {
	case r.bad:
		return false, false
	case structure && slices.Contains(s.want.Names, name) && size.ok() && a.children:
		if _, known := s.found[name]; !known {
			s.found[name] = Struct{Size: int64(size.u), Members: map[string]int64{}}
			*into = name
		}
	case !structure && name != "" && at.ok() && isConstant(at.form):
		if members := s.found[*into].Members; len(members) < maxMembers {
			members[name] = int64(at.u)
		}
	}
	return a.children, true
}

// isConstant reports whether a member's place is a number and not an expression.
func isConstant(form uint16) bool {
	switch form {
	case formData1, formData2, formData4, formData8, formUData, formSData, formImplicitConst:
		return true
	}
	return false
}

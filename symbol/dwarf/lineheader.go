package dwarf

import "strings"

// lineTable is the header of one line program.
type lineTable struct {
	u          *unit // whose program it is
	off        uint64
	data       []byte // the section
	version    uint16
	layout     layout
	minLength  uint64
	maxOps     uint64
	lineBase   int8
	lineRange  uint8
	opcodeBase uint8
	lengths    [256]uint8 // arguments of standard opcodes
	dirs       []value
	files      []fileEntry
	listed     int // of files: those of the header, the rest is defined by the program
	program    reader
	paths      map[uint64]string
}

type fileEntry struct {
	name value
	dir  uint64
}

// Content of file and directory entries, DWARF 5, 7.22.
const (
	lnctPath      = 1 // DW_LNCT_path
	lnctDirectory = 2 // DW_LNCT_directory_index
)

// lineTable returns the unit's line table, nil if it has none.
func (u *unit) lineTable() *lineTable {
	if u.lines != nil || !u.root.stmtList.ok() {
		return u.lines
	}
	t := &lineTable{u: u, off: u.part(secLine) + u.root.stmtList.u, paths: map[uint64]string{}}
	if !t.readHeader() {
		if u.d.left > 0 { // else the next call may read it
			u.root.stmtList = value{} // reported once
		}
		return nil
	}
	u.lines = t
	return t
}

// readHeader reads the header up to the program. Source: DWARF 5, 6.2.4; DWARF 4, 6.2.4.
func (t *lineTable) readHeader() bool {
	d := t.u.d
	t.data = d.data(secLine)
	r := d.reader(secLine, t.off)
	in, offSize := r.sub()
	t.version = uint16(in.uint(2))
	if r.bad || t.version < 2 || t.version > 5 {
		d.malformed(secLine, t.off, "table of version %d is cut or not known", t.version)
		return false
	}
	t.layout = layout{addrSize: t.u.layout.addrSize, offSize: uint8(offSize), refAddr: uint8(offSize)}
	if t.version >= 5 {
		t.layout.addrSize = in.u8()
		in.u8() // size of segment selectors
	}
	size := in.uint(offSize)
	t.program = in
	t.program.skip(size)
	head := in
	head.b = in.b[:t.program.off]
	t.readFields(&head)
	if t.version >= 5 {
		t.readEntries(&head)
	} else {
		t.readLists(&head)
	}
	if head.bad || t.program.bad {
		d.malformed(secLine, t.off, "header is cut")
		return false
	}
	t.listed = len(t.files)
	return d.spend(head.off-in.off) && d.keep(secLine, head.off-in.off)
}

func (t *lineTable) readFields(r *reader) {
	t.minLength = uint64(r.u8())
	t.maxOps = 1
	if t.version >= 4 {
		t.maxOps = uint64(r.u8())
	}
	r.u8() // default_is_stmt
	t.lineBase, t.lineRange, t.opcodeBase = int8(r.u8()), r.u8(), r.u8()
	for op := 1; op < int(t.opcodeBase); op++ {
		t.lengths[op] = r.u8()
	}
}

// readLists reads the directories and files of versions 2 to 4. Both count from 1.
func (t *lineTable) readLists(r *reader) {
	t.dirs = append(t.dirs, value{})
	for !r.bad {
		at := r.off
		if r.skipString(); r.off-at <= 1 {
			break
		}
		if len(t.dirs) > maxFiles || !t.u.d.hold(fileSize) { // what follows are directories still, no files
			r.fail()
			return
		}
		t.dirs = append(t.dirs, value{form: formString, u: uint64(at)})
	}
	t.files = append(t.files, fileEntry{})
	for len(t.files) < maxFiles && t.define(r) {
	}
}

// define reads one file entry of versions 2 to 4, false at the end of the list.
func (t *lineTable) define(r *reader) bool {
	at := r.off
	if r.skipString(); r.bad || r.off-at <= 1 {
		return false
	}
	f := fileEntry{name: value{form: formString, u: uint64(at)}, dir: r.uleb()}
	r.uleb() // time
	r.uleb() // size
	if len(t.files) < maxFiles && t.u.d.hold(fileSize) {
		t.files = append(t.files, f)
	}
	return !r.bad && t.u.d.left > 0
}

// readEntries reads the directories and files of version 5. Both count from 0.
func (t *lineTable) readEntries(r *reader) {
	t.entries(r, func(f fileEntry) { t.dirs = append(t.dirs, f.name) })
	t.entries(r, func(f fileEntry) { t.files = append(t.files, f) })
}

func (t *lineTable) entries(r *reader, add func(fileEntry)) {
	formats := make([]attr, r.u8())
	for i := range formats {
		formats[i] = attr{name: short(r.uleb()), form: short(r.uleb())}
	}
	n := r.uleb()
	if n > uint64(len(r.b)-r.off) || n > maxFiles { // an entry has a byte at least
		r.fail()
	}
	for range n {
		at := r.off
		var f fileEntry
		for _, a := range formats {
			v := t.layout.read(r, a.form, 0)
			switch a.name {
			case lnctPath:
				f.name = v
			case lnctDirectory:
				f.dir = v.u
			}
		}
		if r.off == at || !t.u.d.spend(len(formats)) || !t.u.d.hold(fileSize) {
			r.fail()
		}
		if r.bad {
			return
		}
		add(f)
	}
}

// path joins the name of a file with its directory and that of the compilation, "" if there is no
// such file.
func (t *lineTable) path(file uint64) string {
	if t == nil || file >= uint64(len(t.files)) {
		return ""
	}
	if p, ok := t.paths[file]; ok {
		return p
	}
	p := t.join(t.files[file])
	if t.u.d.left > 0 { // else it may be cut
		t.paths[file] = p
	}
	return p
}

func (t *lineTable) join(f fileEntry) string {
	name := t.str(f.name)
	if name == "" || isAbs(name) {
		return name
	}
	dir := ""
	if f.dir < uint64(len(t.dirs)) {
		dir = t.str(t.dirs[f.dir])
	}
	if f.dir == 0 || !isAbs(dir) {
		comp := t.u.str(t.u.root.compDir)
		switch {
		case comp == "":
		case f.dir == 0 || dir == "":
			dir = comp
		default:
			dir = strings.TrimSuffix(comp, "/") + "/" + dir
		}
	}
	if dir == "" {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}

func isAbs(path string) bool { return strings.HasPrefix(path, "/") }

func (t *lineTable) str(v value) string {
	if v.form == formString {
		return t.u.d.paid(cstring(t.data, v.u))
	}
	return t.u.str(v)
}

package dwarf

import "slices"

// row is what a line table says of one address.
type row struct {
	file uint64
	line int
	ok   bool
}

// Opcodes of line programs, DWARF 5, 7.22.
const (
	lnsCopy           = 1 // DW_LNS_copy
	lnsAdvancePC      = 2 // DW_LNS_advance_pc
	lnsAdvanceLine    = 3 // DW_LNS_advance_line
	lnsSetFile        = 4 // DW_LNS_set_file
	lnsConstAddPC     = 8 // DW_LNS_const_add_pc
	lnsFixedAdvancePC = 9 // DW_LNS_fixed_advance_pc

	lneEndSequence = 1 // DW_LNE_end_sequence
	lneSetAddress  = 2 // DW_LNE_set_address
	lneDefineFile  = 3 // DW_LNE_define_file, not in version 5
)

// lineState is the registers of the line-number machine (DWARF 5, 6.2.2) that matter here.
type lineState struct {
	addr  uint64
	index uint64 // of the operation within an instruction
	file  uint64
	line  int64
}

// lineRun is one run of a program for wanted addresses.
type lineRun struct {
	t     *lineTable
	want  []uint64
	rows  []row
	state lineState

	prev   lineState // of the last row
	inside bool      // prev is a row of the running sequence
	dead   bool      // the sequence is of code that was dropped
	next   int       // the first wanted address at prev or above
}

// find fills in rows for wanted addresses, which are sorted. Where a program gives several
// rows for one address, the last is in force.
func (t *lineTable) find(want []uint64, rows []row) {
	if t == nil || len(want) == 0 {
		return
	}
	run := &lineRun{t: t, want: want, rows: rows}
	run.reset()
	r := t.program
	t.files = t.files[:t.listed] // this run defines its files again
	from := r.off
	for t.u.d.left > 0 && r.more() && run.step(&r) {
		if r.off-from > often {
			t.u.d.spend(r.off - from)
			from = r.off
		}
	}
	if r.bad {
		t.u.d.malformed(secLine, t.off, "program is cut")
	}
	t.u.d.spend(r.off - from)
}

func (l *lineRun) reset() {
	l.state = lineState{file: 1, line: 1}
	l.inside, l.dead = false, false
}

// step carries out one instruction.
func (l *lineRun) step(r *reader) bool {
	t := l.t
	op := r.u8()
	if op >= t.opcodeBase {
		if t.lineRange == 0 {
			return false
		}
		n := op - t.opcodeBase
		l.advance(uint64(n / t.lineRange))
		l.state.line += int64(t.lineBase) + int64(n%t.lineRange)
		l.emit()
		return true
	}
	switch op {
	case 0:
		return l.extended(r)
	case lnsCopy:
		l.emit()
	case lnsAdvancePC:
		l.advance(r.uleb())
	case lnsAdvanceLine:
		l.state.line += r.sleb()
	case lnsSetFile:
		l.state.file = r.uleb()
	case lnsConstAddPC:
		if t.lineRange == 0 {
			return false
		}
		l.advance(uint64((255 - t.opcodeBase) / t.lineRange))
	case lnsFixedAdvancePC:
		l.state.addr += r.uint(2)
		l.state.index = 0
	default: // no register of ours: its arguments are LEB128
		for range t.lengths[op] {
			r.uleb()
		}
	}
	return !r.bad
}

// extended carries out an instruction that begins with a zero byte and its length.
func (l *lineRun) extended(r *reader) bool {
	n := r.uleb()
	if n == 0 || n > uint64(len(r.b)-r.off) {
		r.fail()
		return false
	}
	end := r.off + int(n)
	switch op := r.u8(); op {
	case lneEndSequence:
		l.emit()
		l.reset()
	case lneSetAddress:
		l.state.addr = r.uint(int(n) - 1)
		l.state.index = 0
	case lneDefineFile:
		l.t.define(r)
	}
	if r.bad {
		return false
	}
	r.off = end
	return true
}

// advance goes on by operations, of which an instruction of a VLIW machine has several.
// Source: DWARF 5, 6.2.5.1.
func (l *lineRun) advance(n uint64) {
	t, s := l.t, &l.state
	if t.maxOps <= 1 {
		s.addr += t.minLength * n
		return
	}
	s.addr += t.minLength * ((s.index + n) / t.maxOps)
	s.index = (s.index + n) % t.maxOps
}

// emit makes a row of the state: the row before it is in force up to here.
func (l *lineRun) emit() {
	s := l.state
	switch {
	case !l.inside:
		o := &l.t.u.d.o
		l.inside, l.dead = true, s.addr < o.Low || s.addr >= o.High
		l.next, _ = slices.BinarySearch(l.want, s.addr)
	case s.addr < l.prev.addr: // no sequence should go down
		l.next, _ = slices.BinarySearch(l.want, s.addr)
	case !l.dead:
		from := l.next
		for l.next < len(l.want) && l.want[l.next] < s.addr {
			if at := &l.rows[l.next]; !at.ok {
				*at = row{file: l.prev.file, line: lineNumber(l.prev.line), ok: true}
			}
			l.next++
		}
		if n := l.next - from; n > 0 {
			l.t.u.d.spend(n)
		}
	}
	l.prev = s
}

// lineNumber is a line as a person counts, 0 for one that no file has.
func lineNumber(n int64) int {
	if n < 0 || n > 1<<31-1 {
		return 0
	}
	return int(n)
}

package heap

import "fmt"

// translationFormat is how one version of V8 writes the frames of a deoptimisation: a list of instructions, one byte
// and operands of seven bits a byte each, of which some begin a frame and the others say where its values are.
// Source: src/deoptimizer/translation-opcode.h.
type translationFormat struct {
	// operands has a digit for each opcode: how many numbers follow it.
	operands string
	// begin and begin2 are the opcodes that a list begins with.
	begin, begin2 byte
	// interpreted, uncalled, builtin and caught are those of frames of functions: with a place for a returned value,
	// without one, of a builtin, and of one that catches what is thrown.
	interpreted, uncalled, builtin, caught byte
	// stubs are the other opcodes that begin a frame.
	stubs []byte
	// doubled says that opcodes are signed numbers as operands are, and that no list refers to an earlier one.
	doubled bool
	// bytecodes says that a frame of a function has the number of its BytecodeArray.
	bytecodes bool
}

var translationFormats = []struct {
	major, minor int32 // the first version
	*translationFormat
}{
	{10, 0, &translationFormat{operands: "21031131311" + "1111111" + "53341" + "1111" + "2", begin: 3, begin2: 3,
		interpreted: 18, uncalled: 18, builtin: 19, caught: 20, stubs: []byte{0, 6, 8, 21}, doubled: true}},
	{10, 3, nil}, // that of Node.js 19 has others
	{11, 0, &translationFormat{operands: "1033" + "11313" + "11111" + "2" + "11111111" + "53334" + "0" +
		"11111" + "21", begin: 2, begin2: 3,
		interpreted: 23, uncalled: 24, builtin: 25, caught: 26, stubs: []byte{6, 8, 14, 27}}},
	{11, 7, &translationFormat{operands: "5333213432" + "1033" + "111111111111111111" + "0" + "11111" + "21",
		begin: 12, begin2: 13, interpreted: 0, uncalled: 1, builtin: 2, caught: 3, stubs: []byte{4, 5, 6, 7, 8, 9}}},
	{12, 8, &translationFormat{operands: "53332134332" + "10033" + "11111111111111111111" + "0" + "11111" + "21",
		begin: 14, begin2: 15, interpreted: 0, uncalled: 1, builtin: 2, caught: 3,
		stubs: []byte{4, 5, 6, 7, 8, 9, 10}}},
	{13, 0, &translationFormat{operands: "64332134333" + "10033" + "111" + "0" + "11111111111111111" + "0" + "11111" +
		"21", begin: 14, begin2: 15, interpreted: 0, uncalled: 1, builtin: 2, caught: 3,
		stubs: []byte{4, 5, 6, 7, 8, 9, 10}, bytecodes: true}},
}

// translations is the format of this version, nil if it is not known.
func (l *Layout) translations() *translationFormat {
	var f *translationFormat
	for i := range translationFormats {
		if t := &translationFormats[i]; l.Version.AtLeast(t.major, t.minor) {
			f = t.translationFormat
		}
	}
	return f
}

// literal is the opcode of a value that is a literal: that many from the last.
func (f *translationFormat) literal() byte {
	if f.doubled {
		return byte(len(f.operands) - 6)
	}
	return byte(len(f.operands) - 7)
}

// opcode is that of a byte.
func (f *translationFormat) opcode(b byte) byte {
	if f.doubled {
		return b >> 1
	}
	return b
}

// translated is the beginning of the frame of a function.
type translated struct {
	offset, literal, bytecodes int
	closure                    int // the number of the literal; below 0 if it is none
	builtin                    bool
}

// instruction is one of a list: its opcode, and where its operands are.
type instruction struct {
	opcode byte
	at     int
}

// translation reads a list of frames. It may say of several instructions that they are those of an earlier list, by
// their place in it.
type translation struct {
	*translationFormat
	table []byte
	at    int
	steps int
	basis []instruction
	last  int // where basis has been read to
}

// translate reads the frames of functions of the list that begins at at, outermost first.
func (d *Deopts) translate(at int) ([]translated, error) {
	t := translation{translationFormat: d.format, table: d.table, at: at}
	back, frames, functions, err := t.begins()
	if err != nil {
		return nil, err
	}
	if t.last = at - back; back > 0 { // the earlier list
		earlier := translation{translationFormat: d.format, table: d.table, at: t.last}
		if _, _, _, err := earlier.begins(); err != nil {
			return nil, err
		}
		t.last = earlier.at
	}
	l := list{left: frames}
	for n := 0; !l.whole(); {
		same, i, err := t.next()
		if err != nil {
			return nil, err
		}
		for k := 0; k < max(1, same) && !l.whole(); k++ {
			if same > 0 {
				if i, err = t.earlier(n + k); err != nil {
					return nil, err
				}
			}
			l.add(&t, i)
		}
		n += max(1, same)
	}
	if len(l.functions) != functions {
		return nil, fmt.Errorf("%w: %d frames of functions are %d", ErrMoved, functions, len(l.functions))
	}
	return l.functions, nil
}

// list is the frames of functions that were met.
type list struct {
	functions []translated
	left      int  // frames that have not been met
	closure   bool // the next value is the closure of the last of functions
}

func (l *list) whole() bool { return l.left == 0 && !l.closure }

func (l *list) add(t *translation, i instruction) {
	if l.closure {
		l.closure = false
		if i.opcode == t.literal() {
			r := vlq{b: t.table[i.at:]}
			l.functions[len(l.functions)-1].closure = operand(&r)
		}
	}
	f, starts, ok := t.frame(i)
	if !starts || l.left == 0 {
		return
	}
	l.left--
	if ok {
		l.functions = append(l.functions, f)
		l.closure = f.builtin
	}
}

// begins reads the instruction that a list begins with: how far back an earlier one is that it refers to, and the
// number of its frames, and of those that are functions.
func (t *translation) begins() (back, frames, functions int, err error) {
	if t.at < 0 || t.at >= len(t.table) {
		return 0, 0, 0, fmt.Errorf("%w: no list of frames begins at %d of %d", ErrMoved, t.at, len(t.table))
	}
	if opcode := t.opcode(t.table[t.at]); opcode != t.begin && opcode != t.begin2 {
		return 0, 0, 0, fmt.Errorf("%w: no list of frames begins at %d of %d", ErrMoved, t.at, len(t.table))
	}
	start := t.at
	r := vlq{b: t.table[t.at+1:]}
	if t.doubled {
		frames, functions = operand(&r), operand(&r)
		r.unsigned() // of feedback
	} else {
		back, frames, functions = int(uint32(r.unsigned())), operand(&r), operand(&r)
	}
	t.at = len(t.table) - len(r.b)
	const most = maxInlined
	if r.err != nil || back > start || frames < 1 || frames > most || functions < 1 || functions > frames {
		return 0, 0, 0, fmt.Errorf("%w: a list of %d frames, %d of functions", ErrMoved, frames, functions)
	}
	return back, frames, functions, nil
}

// next reads the next instruction, or how many are the same as in the earlier list.
func (t *translation) next() (same int, i instruction, err error) {
	if t.steps++; t.at >= len(t.table) || t.steps > maxSteps {
		return 0, i, fmt.Errorf("%w: a list of frames does not end", ErrMoved)
	}
	i = instruction{t.opcode(t.table[t.at]), t.at + 1}
	t.at++
	match := byte(len(t.operands) - 1) // the last opcode; those above it have the number in them
	if t.doubled {
		match = 255 // there is none
		if int(i.opcode) >= len(t.operands) {
			return 0, i, fmt.Errorf("%w: opcode %d in a list of frames", ErrMoved, i.opcode)
		}
	}
	if int(i.opcode) > int(match)+1 {
		return int(i.opcode) - len(t.operands), i, nil
	}
	r := vlq{b: t.table[t.at:]}
	switch {
	case i.opcode == match:
		same = int(uint32(r.unsigned()))
	case i.opcode < match:
		for range t.operands[i.opcode] - '0' {
			r.unsigned()
		}
	}
	t.at = len(t.table) - len(r.b)
	if r.err != nil || same > maxSteps || i.opcode >= match && same == 0 {
		return 0, i, fmt.Errorf("%w: a list of frames is damaged at %d", ErrMoved, i.at)
	}
	return same, i, nil
}

// earlier is instruction number n of the earlier list.
func (t *translation) earlier(n int) (instruction, error) {
	for len(t.basis) <= n {
		e := translation{translationFormat: t.translationFormat, table: t.table, at: t.last}
		same, i, err := e.next()
		if err != nil {
			return i, err
		}
		if t.steps++; same > 0 || t.steps > maxSteps {
			return i, fmt.Errorf("%w: a list of frames refers to one that does itself", ErrMoved)
		}
		t.basis, t.last = append(t.basis, i), e.at
	}
	return t.basis[n], nil
}

// frame is what i begins: a frame of a function, of something else, or none.
func (t *translation) frame(i instruction) (f translated, starts, ok bool) {
	switch i.opcode {
	case t.interpreted, t.uncalled:
	case t.builtin, t.caught:
		f.builtin = true
	default:
		for _, s := range t.stubs {
			starts = starts || s == i.opcode
		}
		return f, starts, false
	}
	r := vlq{b: t.table[i.at:]}
	f.offset, f.literal, f.bytecodes, f.closure = operand(&r), operand(&r), -1, -1
	if t.bytecodes && !f.builtin {
		f.bytecodes = operand(&r)
	}
	return f, true, r.err == nil
}

// operand reads a signed number, whose lowest bit is its sign. Source: src/base/vlq.h.
func operand(r *vlq) int {
	v := uint32(r.unsigned())
	if v&1 != 0 {
		return -int(v >> 1)
	}
	return int(v >> 1)
}

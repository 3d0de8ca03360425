package heap

import (
	"encoding/binary"
	"fmt"

	"github.com/fpstack/fpstack/mem"
)

// Deopts are the places at which one optimised code can be given up for the interpreter. Each says which functions run
// there and where they are in their bytecode: V8 builds the frames of the interpreter from that, and lists of frames
// for Error.stack.
//
// They are copied words, which do not change while the code is alive; readers of objects that they lead to take a Heap.
// Source: DeoptimizationData in src/objects/deoptimization-data.h, src/deoptimizer/frame-translation-builder.cc.
type Deopts struct {
	// exits is where the instructions begin that give the code up, bytes from its start: exitSize for each place.
	exits        int
	translations []int // where the frames of each begin in table
	table        []byte
	literals     []Tagged
	bytecodes    []Tagged // literals that are BytecodeArrays, where those are apart (from V8 13 on)
	format       *translationFormat
	tables       map[Tagged][]byte // position tables of bytecode that were read, by BytecodeArray
	functions    map[Tagged]Shared // by literal
	frames       map[int][]Place   // by number, as far as they were read
	steps        int               // instructions of lists that were read
}

// Place is a function, and where in its bytecode it is, in a list of frames.
type Place struct {
	Shared Shared
	// Bytecode is the offset in bytes; -1 at the entry of the function, and for a Builtin.
	Bytecode int
	// Builtin says that it is a function of V8 itself, like Array.prototype.forEach, that has been inlined.
	Builtin bool
	array   Tagged // the BytecodeArray; 0 where the function leads to it
}

const (
	maxExits     = 1 << 16
	exitSize     = 4 // bytes of each: a call. Source: src/deoptimizer/x64/deoptimizer-x64.cc
	maxLiterals  = 1 << 17
	maxTranslate = 1 << 20 // bytes of the frames of one code
	// maxSteps bounds the instructions of one list of frames, maxAllSteps those of all lists of one code.
	maxSteps    = 1 << 16
	maxAllSteps = 1 << 21
)

// Size is about how much memory d takes, bytes.
func (d *Deopts) Size() int {
	return 8*len(d.translations) + len(d.table) + 8*(len(d.literals)+len(d.bytecodes))
}

// exitStart is where the exits begin, words behind the inlining positions.
const exitStart = 1

// ExitsOf is where the exits of c begin, bytes from its start, also where DeoptsOf does not know the lists of a
// version.
func (h Heap) ExitsOf(c Code) (int, error) {
	data, err := h.deoptData(c.Deopt)
	if err != nil {
		return 0, err
	}
	words, err := h.words(data.at, h.ArrayData, min(data.n, max(0, int(h.Deopt.Inlining)+exitStart+1)))
	if err != nil {
		return 0, err
	}
	return exitsIn(words, &h, c)
}

// exitsIn is the word of deoptimisation data that says where the exits of c begin.
func exitsIn(words []Tagged, h *Heap, c Code) (int, error) {
	at := int(h.Deopt.Inlining) + exitStart
	if at < 0 || at >= len(words) {
		return 0, fmt.Errorf("%w: deoptimisation data of %d words", ErrMoved, len(words))
	}
	exits, ok := words[at].Int()
	if !ok || exits < 0 || exits > c.Size {
		return 0, fmt.Errorf("%w: exits at %#x of code of %#x bytes", ErrMoved, exits, c.Size)
	}
	return exits, nil
}

// DeoptsOf reads those of c.
func (h Heap) DeoptsOf(c Code) (*Deopts, error) {
	format := h.translations()
	if format == nil {
		return nil, fmt.Errorf("%w: lists of inlined frames of V8 %v are not read", ErrUnknown, h.Version)
	}
	data, err := h.deoptData(c.Deopt)
	if err != nil {
		return nil, err
	}
	const translation, behindInlining, entry = 0, 4, 3
	first := int(h.Deopt.Inlining) + behindInlining
	count := (data.n - first) / entry
	if data.n < first || count > maxExits {
		return nil, fmt.Errorf("%w: deoptimisation data of %d words", ErrMoved, data.n)
	}
	words, err := h.words(data.at, h.ArrayData, data.n)
	if err != nil {
		return nil, err
	}
	d := &Deopts{translations: make([]int, count), format: format, tables: map[Tagged][]byte{},
		functions: map[Tagged]Shared{}, frames: map[int][]Place{}}
	if d.exits, err = exitsIn(words, &h, c); err != nil {
		return nil, err
	}
	for i := range count {
		at, ok := words[first+entry*i+1].Int()
		if !ok || at < 0 {
			return nil, fmt.Errorf("%w: frames of deoptimisation %d are at %#x", ErrMoved, i,
				uint64(words[first+entry*i+1]))
		}
		d.translations[i] = at
	}
	if d.table, err = h.Table(words[translation]); err != nil {
		return nil, err
	}
	if len(d.table) > maxTranslate {
		return nil, fmt.Errorf("%w: %d bytes of inlined frames", ErrUnknown, len(d.table))
	}
	if d.literals, err = h.array(words[h.Deopt.Literals]); err != nil {
		return nil, err
	}
	if format.bytecodes {
		d.bytecodes, err = h.array(words[h.Deopt.Literals-1])
	}
	return d, err
}

// array reads the elements of the FixedArray that t refers to, or of another kind of array of words.
func (h Heap) array(t Tagged) ([]Tagged, error) {
	a, ok := t.Object()
	if !ok {
		return nil, fmt.Errorf("%w: an array of literals is %#x", ErrMoved, uint64(t))
	}
	n, err := h.length(a, maxLiterals)
	if err != nil {
		return nil, err
	}
	return h.words(a, h.ArrayData, n)
}

// Frames are the functions that run at deoptimisation number i, innermost first, without frames of stubs. What they
// name is checked: each is a function, and what is called in it an instruction of its bytecode.
func (d *Deopts) Frames(h Heap, i int) ([]Place, error) {
	if i < 0 || i >= len(d.translations) {
		return nil, fmt.Errorf("%w: deoptimisation %d of %d", ErrMoved, i, len(d.translations))
	}
	if places, ok := d.frames[i]; ok {
		return places, nil
	}
	frames, err := d.translate(d.translations[i])
	if err != nil {
		return nil, err
	}
	places := make([]Place, len(frames))
	for k, f := range frames {
		p, err := d.place(h, f)
		if err != nil {
			return nil, err
		}
		places[len(frames)-1-k] = p
	}
	d.frames[i] = places
	return places, nil
}

func (d *Deopts) place(h Heap, f translated) (Place, error) {
	p := Place{Bytecode: f.offset, Builtin: f.builtin}
	if p.Builtin {
		return d.builtin(h, f)
	}
	word, err := d.literal(f.literal)
	if err != nil {
		return p, err
	}
	if p.Shared, err = d.function(word, h.SharedAt); err != nil {
		return p, err
	}
	if d.format.bytecodes {
		if f.bytecodes < 0 || f.bytecodes >= len(d.bytecodes) {
			return p, fmt.Errorf("%w: bytecode %d of %d", ErrMoved, f.bytecodes, len(d.bytecodes))
		}
		p.array = d.bytecodes[f.bytecodes]
	}
	return p, nil
}

// builtin is the place of a builtin: its closure tells the function, which Maglev says to be the caller of that.
func (d *Deopts) builtin(h Heap, f translated) (Place, error) {
	p := Place{Bytecode: -1, Builtin: true}
	word, err := d.literal(f.closure)
	if err != nil {
		return p, err
	}
	p.Shared, err = d.function(word, func(word Tagged) (Shared, error) {
		closure, ok := word.Object()
		if !ok {
			return Shared{}, fmt.Errorf("%w: the closure of a builtin is %#x", ErrMoved, uint64(word))
		}
		return h.FunctionAt(closure)
	})
	return p, err
}

// function is that of a literal, which read reads the first time.
func (d *Deopts) function(word Tagged, read func(Tagged) (Shared, error)) (Shared, error) {
	if s, ok := d.functions[word]; ok {
		return s, nil
	}
	s, err := read(word)
	if err == nil {
		d.functions[word] = s
	}
	return s, err
}

func (d *Deopts) literal(i int) (Tagged, error) {
	if i < 0 || i >= len(d.literals) {
		return 0, fmt.Errorf("%w: literal %d of %d", ErrMoved, i, len(d.literals))
	}
	return d.literals[i], nil
}

// Offset is where the text of p's instruction is in its script, UTF-16 units from 0; -1 if that is not known.
func (d *Deopts) Offset(h Heap, p Place) int {
	if p.Builtin || p.Bytecode < 0 {
		return -1
	}
	table, err := d.positions(h, p)
	if err != nil {
		return -1
	}
	at, ok, err := h.PositionAt(table, p.Bytecode)
	if err != nil || !ok {
		return -1
	}
	return at.Offset
}

// Offsets are those of the text from p's instruction to the one at last in the same bytecode; nil if they are not
// known.
func (d *Deopts) Offsets(h Heap, p Place, last int) []int {
	table, err := d.positions(h, p)
	if p.Builtin || err != nil {
		return nil
	}
	out, err := h.offsetsIn(table, p.Bytecode, last)
	if err != nil {
		return nil
	}
	return out
}

// positions is the position table of p's bytecode.
func (d *Deopts) positions(h Heap, p Place) ([]byte, error) {
	key := p.array
	if key == 0 {
		key = TagOf(p.Shared.Addr)
	}
	if table, ok := d.tables[key]; ok {
		return table, nil
	}
	b, err := h.BytecodeOf(p.array)
	if p.array == 0 {
		b, err = h.bytecodeOf(p.Shared)
	}
	if err != nil {
		return nil, err
	}
	if p.Bytecode >= b.Length {
		return nil, fmt.Errorf("%w: bytecode %d of %d", ErrMoved, p.Bytecode, b.Length)
	}
	table, err := h.Table(b.Positions)
	if err == nil {
		d.tables[key] = table
	}
	return table, err
}

// Safepoint is a call of optimised code: where garbage may be collected.
type Safepoint struct {
	Return int // offset of the instruction behind the call
	Deopt  int // number of the deoptimisation when the call returns to code that was given up; -1 without
	Exit   int // where it returns then; -1 without
}

// maxSafepoints bounds the calls of one code.
const maxSafepoints = 1 << 18

// Safepoints reads those of c, which lie behind its instructions.
// Source: src/codegen/safepoint-table.h, src/codegen/maglev-safepoint-table.h.
func (h Heap) Safepoints(c Code) ([]Safepoint, error) {
	if !h.Version.AtLeast(10, 0) {
		return nil, fmt.Errorf("%w: safepoints of V8 %v are not read", ErrUnknown, h.Version)
	}
	table := c.Start + mem.Addr(c.Size)
	count, head := int32(0), int32(8)
	if h.Version.AtLeast(13, 0) { // the number of stack slots came in front
		count, head = 4, 12
	}
	slots := 0
	if c.Kind == Maglev {
		head, slots = 16, 1 // a byte of each call: how many registers are saved
	}
	n, err := h.uint(table, count, 4)
	if err != nil {
		return nil, err
	}
	config, err := h.uint(table, count+4, 4)
	if err != nil {
		return nil, err
	}
	registers, pc, index := int(config>>1&7), int(config>>4&7), int(config>>7&7)
	if n > maxSafepoints || pc == 0 || pc > 4 || registers > 4 || index > 4 {
		return nil, fmt.Errorf("%w: a table of %d calls, numbers of %d bytes", ErrMoved, n, pc)
	}
	size := pc + slots + registers
	if withDeopt := config&1 != 0; withDeopt {
		size += pc + index
	} else {
		index = 0
	}
	b := make([]byte, int(n)*size)
	if err := h.read(b, table, head); err != nil {
		return nil, err
	}
	out := make([]Safepoint, n)
	for i := range out {
		e := b[i*size:]
		s := Safepoint{Return: number(e[:pc]), Deopt: -1, Exit: -1}
		if config&1 != 0 {
			s.Deopt, s.Exit = number(e[pc:pc+index])-1, number(e[pc+index:pc+index+pc])-1
		}
		if s.Return > c.Size || s.Exit > c.Size {
			return nil, fmt.Errorf("%w: a call at %#x of %#x bytes", ErrMoved, s.Return, c.Size)
		}
		out[i] = s
	}
	return out, nil
}

// number is little-endian, of up to 4 bytes.
func number(b []byte) int {
	var word [4]byte
	copy(word[:], b)
	return int(binary.LittleEndian.Uint32(word[:]))
}

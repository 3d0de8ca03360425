package pclntab

import "sort"

// Func is one function of a [Table]. The zero value stands for none and answers nothing.
type Func struct {
	Entry, End uint64 // [Entry, End); padding behind the last instruction belongs to it
	t          *Table
	rec        []byte // struct _func, from its start to the end of the table
}

// Flag holds facts about a function: FuncFlag in internal/abi/symtab.go.
type Flag uint8

// The flags that releases since Go 1.17 write.
const (
	TopFrame Flag = 1 << iota // the outermost frame of its stack
	SPWrite                   // sets SP to an arbitrary value: the table cannot follow
	Asm                       // written in assembly
)

// entry returns the address of function i, or of the end for i = nfunc.
func (t *Table) entry(i int) uint64 {
	f := t.field()
	return t.text + t.uint(t.functab[2*i*f:], f)
}

// Bounds returns the addresses [lo, hi) from the first function to the end of the last.
func (t *Table) Bounds() (lo, hi uint64) { return t.entry(0), t.entry(t.nfunc) }

// Func finds the function that holds pc. For a return address pass an address inside the
// call before it.
func (t *Table) Func(pc uint64) (Func, bool) {
	if t == nil || t.nfunc == 0 || pc < t.entry(0) || pc >= t.entry(t.nfunc) {
		return Func{}, false
	}
	i := sort.Search(t.nfunc, func(i int) bool { return t.entry(i) > pc }) - 1
	if i < 0 {
		return Func{}, false
	}
	f := t.field()
	off := t.uint(t.functab[(2*i+1)*f:], f)
	if off > uint64(len(t.funcs)) {
		return Func{}, false
	}
	fn := Func{Entry: t.entry(i), End: t.entry(i + 1), t: t, rec: t.funcs[off:]}
	if fn.End <= pc || len(fn.rec) < fn.fixed() {
		return Func{}, false
	}
	return fn, true
}

// Lookup finds the function of that name, which Go code has once. It asks all, as the table is not sorted by name.
func (t *Table) Lookup(name string) (Func, bool) {
	const cost = 64 // steps a function
	for i := range t.nfunc {
		if !t.budget.Spend(cost) {
			break
		}
		if f, ok := t.Func(t.entry(i)); ok && f.Name() == name {
			return f, true
		}
	}
	return Func{}, false
}

// base is the offset of the field behind the entry.
func (f *Func) base() int { return f.t.field() }

// fixed is the size of the record in front of its pcdata and funcdata.
func (f *Func) fixed() int {
	switch f.t.version {
	case go12:
		return f.base() + 32
	case go116, go118:
		return f.base() + 36 // cuOffset
	}
	return f.base() + 40 // startLine
}

func (f *Func) u32(off int) uint32 { return f.t.order.Uint32(f.rec[f.base()+off:]) }

// Name is the full name as the linker wrote it, with the types of a generic function's
// shape: "main.Map[go.shape.int]". It is "" if the table holds none.
func (f Func) Name() string {
	if f.t == nil {
		return ""
	}
	return cstring(f.t.names, uint64(f.u32(0)))
}

// Flags returns the flags; not ok before Go 1.16, which had none.
func (f Func) Flags() (Flag, bool) {
	if f.t == nil || f.t.version == go12 {
		return 0, false
	}
	return Flag(f.rec[f.fixed()-3]), true
}

// SPDelta says how far SP lies below its value at the function's first instruction, in
// bytes, when pc is about to run. The return address is above that on machines whose call
// pushes it; see struct _func, field pcsp.
func (f Func) SPDelta(pc uint64) (int32, bool) {
	if f.t == nil {
		return 0, false
	}
	return f.value(f.u32(12), pc, f.t.question())
}

// Line returns the source position of pc. Inside of an inlined call it is the position in
// the inlined function.
func (f Func) Line(pc uint64) (file string, line int, ok bool) {
	if f.t == nil {
		return "", 0, false
	}
	return f.line(pc, f.t.question())
}

func (f *Func) line(pc uint64, left *budget) (file string, line int, ok bool) {
	n, ok := f.value(f.u32(20), pc, left)
	if !ok || n <= 0 {
		return "", 0, false
	}
	i, ok := f.value(f.u32(16), pc, left)
	if !ok || i < 0 {
		return "", 0, false
	}
	file = f.t.file(f, uint64(i))
	return file, int(n), file != ""
}

// file returns file i of a function's compilation unit.
func (t *Table) file(f *Func, i uint64) string {
	table, strings := t.cus, t.files
	if t.version == go12 {
		table, strings = t.files, t.data
	} else {
		i += uint64(f.u32(28))
	}
	if i >= uint64(len(table))/4 {
		return ""
	}
	return cstring(strings, uint64(t.order.Uint32(table[4*i:])))
}

// SPDelta is [Func.SPDelta] of the function that holds pc.
func (t *Table) SPDelta(pc uint64) (int32, bool) {
	f, ok := t.Func(pc)
	if !ok {
		return 0, false
	}
	return f.SPDelta(pc)
}

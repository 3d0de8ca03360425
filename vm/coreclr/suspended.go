package coreclr

import (
	"cmp"
	"fmt"
	gomaps "maps"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
	"github.com/fpstack/fpstack/vm/moment"
	"github.com/fpstack/fpstack/vm/search"
	"github.com/fpstack/fpstack/vm/suspended"
	"github.com/fpstack/fpstack/vm/view"
)

// An async method that waits is an object on the heap: a Task that has the state machine of the method in it, of a type
// of its own for each method. Nothing lists them. Their types are searched for in the memory of the process while it
// runs, then the objects, which are read at one moment.
//
// Source: AsyncTaskMethodBuilderT.cs and Task.cs in src/libraries/System.Private.CoreLib; class MethodTable in
// src/coreclr/vm/methodtable.h and class FieldDesc in src/coreclr/vm/field.h of dotnet/runtime. Seen in 8.0.30, 9.0.5
// and 10.0.12.
const (
	marked = 1 // in the address of an object's MethodTable: a collection goes on

	tableSize   = 4  // of objects, in a MethodTable
	tableParent = 16 // in a MethodTable

	taskContinuation = 32
	taskFlags        = 52
	taskEnd          = 56 // of the fields of a Task

	flagsWait = 0x2000400 // WaitingForActivation, of a promise
	flagsDone = 0x1600000 // ran to completion, faulted, cancelled
	flagsMost = 1 << 28

	delegateTarget = 8
	listItems      = 8
	listSize       = 16
	arrayItems     = 16

	categoryMask  = 0xc0000
	categoryValue = 0x40000

	fieldSize   = 16
	fieldToken  = 8
	fieldOffset = 12
	staticField = 1 << 24
	offsetMask  = 1<<27 - 1
)

const (
	maxShapes = 1 << 12
	maxTables = 1 << 16
	maxObject = 1 << 20 // bytes
)

// machine is the type of a state machine, with that of the objects that have it in them.
type machine struct {
	box    mem.Addr // MethodTable
	table  mem.Addr // MethodTable of the machine
	of     mem.Addr // that its fields are described by: what types with other arguments share
	typ    Type
	boxed  bool  // it is an object by itself: an iterator, or in a program that was not optimized
	pooled bool  // the object is no Task, and is used again
	offset int64 // of it, or of the reference to it, in the object
	fields *fieldSet
	layout fieldsAt
}

// fieldSet is what describes the fields of a type.
type fieldSet struct {
	rows    metadata.Members
	offsets map[uint32]int64 // by row
	twice   bool             // two say different things of one
}

// fieldsAt are where fields of a state machine are, bytes from the first.
type fieldsAt struct {
	state    int64 // or unknown
	awaiters []int64
	iterator int64 // what an async iterator lets go on, or unknown
}

// box is an object that has a state machine.
type box struct {
	at      mem.Addr
	object  mem.Addr // its state machine, where that is an object by itself
	machine *machine
	state   int32
	// lets are what lets go on who waits for it.
	lets     [2]continuation
	awaits   []mem.Addr     // objects that it waits for
	back     []continuation // of these
	classes  []*class       // of these
	timeless bool           // the last is a delay without an end
}

// scan is what was found of async methods that wait at one moment.
type scan struct {
	suspended.Scan
	r        *Runtime
	core     mem.Addr // module of the core library
	machines []*machine
	sets     []*fieldSet
	setOf    map[mem.Addr]*fieldSet // by the type that describes them
	words    *search.Words
	isBox    map[mem.Addr]int // of boxes found
	found    []box
	parts    []moment.Part
	classes  map[mem.Addr]*class
	waiters  map[continuation][]mem.Addr // boxes that each lets go on, ascending
	followed int                         // how many these are together
	boxes    []box
	doubtful int // boxes that are left out
}

func (r *Runtime) newScan() *scan {
	return &scan{r: r, words: search.NewWords(), isBox: map[mem.Addr]int{}, setOf: map[mem.Addr]*fieldSet{},
		classes: map[mem.Addr]*class{}, waiters: map[continuation][]mem.Addr{},
		Scan: r.searched.Scan(search.Memory{Table: r.table, Budget: r.budget, Also: isOfRuntime})}
}

// isOfRuntime reports whether types may lie in a mapping: the runtime keeps them in the file that its code is in.
func isOfRuntime(m *maps.Mapping) bool {
	const data = maps.Read | maps.Write
	return m.Perm&(data|maps.Exec) == data && strings.Contains(m.Path, doubleMapper)
}

// Read implements suspended.Finder: it reads all twice, and leaves out what was not the same.
func (c *scan) Read() (found int, err error) {
	if err := c.findMachines(); err != nil || len(c.machines) == 0 {
		return 0, err
	}
	c.findObjects()
	for _, m := range c.machines {
		m.layout = c.layOut(m)
	}
	c.Moment.Part()
	for i := range c.found {
		b := &c.found[i]
		is := c.readBox(b)
		part := c.Moment.Part()
		if is {
			c.boxes, c.parts = append(c.boxes, *b), append(c.parts, part)
		}
	}
	lists := c.readWaiters()
	c.Settle()
	c.boxes = suspended.Stayed(&c.Scan, c.boxes, c.parts)
	for _, part := range lists {
		c.Stayed(part)
	}
	c.searchAgain()
	c.dropCopies()
	return len(c.boxes), c.Moment.Err()
}

// candidate is what may be the MethodTable of a generic type of the core library.
type candidate struct {
	at  mem.Addr
	row uint32
}

// boxType is what sort of object that has a state machine a type is.
type boxType int

const (
	noBox boxType = iota
	taskBox
	pooledBox
)

// findMachines finds the types of objects that have state machines.
func (c *scan) findMachines() error {
	v := view.Over(nil, c.r.live, c.r.budget)
	text, err := c.r.variable(c.r.layout.stringTable)
	if err != nil {
		return fmt.Errorf("find its core library: %w", err)
	}
	f := v.Fields(text)
	if c.core = f.Addr(c.r.layout.tableModule); f.Err != nil {
		return fmt.Errorf("find its core library: %w", f.Err)
	}
	module := search.NewWords()
	module.Add(uint64(c.core), 0)
	var tables []candidate
	c.Each(func(start mem.Addr, b []byte) bool {
		return module.In(b, func(i, _ int) bool {
			if t, ok := c.candidateAt(start, b, i); ok {
				if len(tables) == maxTables {
					c.Full = true
					return false
				}
				tables = append(tables, t)
			}
			return true
		})
	})
	c.addMachines(tables)
	c.Moment.Part()
	return c.Moment.Err()
}

// candidateAt is what may be the MethodTable whose word for its module is at b[i:].
func (c *scan) candidateAt(start mem.Addr, b []byte, i int) (candidate, bool) {
	l := c.r.layout
	at := i - int(l.tableModule)
	if at < 0 || at%wordSize != 0 {
		return candidate{}, false
	}
	flags := uint64(order.Uint32(b[at+int(l.tableFlags):]))
	if flags&hasComponents != 0 || flags&genericMask == 0 || flags&genericMask == genericTypical {
		return candidate{}, false
	}
	row := order.Uint32(b[at+int(l.tableFlags2):])
	if row >>= 8; l.tokenIn16 {
		row >>= 8
	}
	return candidate{start + mem.Addr(at), row}, true
}

// addMachines keeps those of tables whose type is that of an object with a state machine.
func (c *scan) addMachines(tables []candidate) {
	core := c.r.moduleAt(&c.View, c.core)
	a := c.r.names.assembly(&core)
	if c.Miss(a.err); a.err != nil {
		return
	}
	is := map[uint32]boxType{}
	for _, t := range tables {
		sort, ok := is[t.row]
		if !ok {
			sort = c.boxTypeOf(a.tables, t.row)
			is[t.row] = sort
		}
		if sort == noBox {
			continue
		}
		m, err := c.machineOf(t.at, sort == pooledBox)
		if c.Miss(err); m == nil {
			continue
		}
		if len(c.machines) == maxShapes {
			c.Full = true
			return
		}
		c.words.Add(uint64(m.box), 2*len(c.machines))
		c.words.Add(uint64(m.box)|marked, 2*len(c.machines))
		c.machines = append(c.machines, m)
	}
}

// boxTypeOf is what sort of object with a state machine is of the type with that row: one that is a Task, or one that
// is kept for the next call.
// Source: PoolingAsyncValueTaskMethodBuilderT.cs in src/libraries/System.Private.CoreLib.
func (c *scan) boxTypeOf(t *metadata.Tables, row uint32) boxType {
	path, err := t.Path(row)
	if c.Miss(err); err != nil || len(path) != 2 || path[0].Namespace != "System.Runtime.CompilerServices" {
		return noBox
	}
	switch path[1].Name {
	case "AsyncStateMachineBox`1", "DebugFinalizableAsyncStateMachineBox`1":
		return taskBox
	case "StateMachineBox`1":
		return pooledBox
	}
	return noBox
}

// machineOf is the state machine of objects with the MethodTable at a, the last argument of their type; nil for none.
func (c *scan) machineOf(a mem.Addr, pooled bool) (*machine, error) {
	r, v := c.r, &c.View
	if _, ok := v.Bytes(a, tableBytes); !ok { // so that it is kept whole: it is searched for by the word of its module
		return nil, v.Fault()
	}
	f := v.Fields(a)
	size := f.Uint(tableSize, 4)
	at, n, err := r.dictionary(v, a)
	if err = cmp.Or(f.Err, err); err != nil || n != 2 || size > maxObject {
		return nil, err
	}
	d := v.Fields(at)
	m := &machine{box: a, table: d.Addr(wordSize), pooled: pooled}
	if d.Err != nil || m.table == 0 || m.table%wordSize != 0 {
		return nil, d.Err
	}
	t := v.Fields(m.table)
	flags, own, class := t.Uint(r.layout.tableFlags, 4), t.Uint(tableSize, 4), t.Addr(r.layout.tableClass)
	r.types = 0
	m.typ = r.typeOf(v, m.table, maxTypeDepth)
	if err = cmp.Or(t.Err, m.typ.fault()); err != nil || m.typ.Kind != NamedType {
		return nil, err
	}
	if m.of = m.table; class&1 != 0 {
		m.of = class &^ 1
	}
	// The references of an object come before its structs. Both sizes have the word before an object and that of its
	// MethodTable.
	m.boxed, m.offset = flags&categoryMask != categoryValue, int64(size)-int64(own)+wordSize
	if m.boxed {
		m.offset = 0 // the second reference: it is looked for
	} else if m.offset < m.first() {
		return nil, nil
	}
	if m.fields, err = c.fieldsOf(m); m.fields == nil {
		return nil, err
	}
	return m, nil
}

// first is where the fields of an object begin that has the machine, behind those of a Task.
func (m *machine) first() int64 {
	if m.pooled {
		return wordSize
	}
	return taskEnd
}

// fieldsOf is what describes the fields of m, nil if it has none.
func (c *scan) fieldsOf(m *machine) (*fieldSet, error) {
	asm := c.r.names.assembly(&m.typ.Module)
	if asm.err != nil {
		return nil, asm.err
	}
	rows, err := asm.tables.Fields(m.typ.Token & rowMask)
	if err != nil || rows.First == rows.End { // of an interface: no object has this type
		return nil, err
	}
	set := c.setOf[m.of]
	if set == nil {
		set = &fieldSet{rows: rows, offsets: map[uint32]int64{}}
		c.setOf[m.of] = set
		c.words.Add(uint64(m.of), 2*len(c.sets)+1)
		c.sets = append(c.sets, set)
	}
	return set, nil
}

// findObjects finds objects of the machines, and the descriptions of their fields.
func (c *scan) findObjects() {
	c.Each(func(start mem.Addr, b []byte) bool {
		return c.words.In(b, func(i, number int) bool {
			at := start + mem.Addr(i)
			if number%2 == 1 {
				c.addField(c.sets[number/2], at, b[i:])
				return true
			}
			m := c.machines[number/2]
			switch whole := len(b)-i >= taskEnd; {
			case whole && !m.mayWait(b[i:]):
				return true
			case !whole && c.r.searched.Replayed: // it has all of those that were found
				return true
			}
			if len(c.found) == suspended.MaxObjects {
				c.Full = true
				return true
			}
			if _, ok := c.isBox[at]; !ok {
				c.isBox[at] = len(c.found)
				c.found = append(c.found, box{at: at, machine: m})
			}
			return true
		})
	})
}

// mayWait reports whether the object that b begins with may be that of a method that waits: a Task says so.
func (m *machine) mayWait(b []byte) bool {
	return m.pooled || isSuspended(order.Uint32(b[taskFlags:]))
}

// isSuspended reports whether the flags of a task are those of an async method that waits.
func isSuspended(flags uint32) bool {
	return flags&flagsWait == flagsWait && flags&flagsDone == 0 && flags < flagsMost
}

// addField takes what may describe a field of s, at a.
func (c *scan) addField(s *fieldSet, a mem.Addr, b []byte) {
	if len(b) < fieldSize {
		return
	}
	token, offset := order.Uint32(b[fieldToken:]), order.Uint32(b[fieldOffset:])&offsetMask
	if !s.rows.Has(token&rowMask) || token&staticField != 0 || offset > maxObject {
		return
	}
	if _, ok := c.Moment.Bytes(a, fieldSize); !ok { // so that it is kept
		return
	}
	row := token & rowMask
	if before, ok := s.offsets[row]; ok && before != int64(offset) {
		s.twice = true
	}
	s.offsets[row] = int64(offset)
}

// layOut finds which fields of m say what it waits for.
func (c *scan) layOut(m *machine) fieldsAt {
	l := fieldsAt{state: unknown, iterator: unknown}
	a := c.r.names.assembly(&m.typ.Module)
	if a.err != nil || m.fields.twice {
		return l
	}
	for _, row := range slices.Sorted(gomaps.Keys(m.fields.offsets)) {
		name, err := a.tables.FieldName(fieldTokens | row)
		at := m.fields.offsets[row]
		switch {
		case err != nil:
			return fieldsAt{state: unknown, iterator: unknown}
		case isStateField(name):
			l.state = at
		case strings.HasPrefix(name, "<>u__"), strings.HasPrefix(name, "$awaiter"):
			l.awaiters = append(l.awaiters, at)
		case name == "<>v__promiseOfValueOrEnd":
			l.iterator = at
		}
	}
	return l
}

// isStateField reports whether a field of a state machine says where it goes on: of Roslyn, or of mono's mcs.
func isStateField(name string) bool { return name == "<>1__state" || name == "$PC" }

package coreclr

import (
	"slices"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/csharp"
	"github.com/fpstack/fpstack/vm/moment"
)

// class is what is of interest of the type of an object.
type class struct {
	name  string // without namespace, as Task+DelayPromise
	in    string // its namespace, with a dot behind it
	shown string // the same as C# has it
	kind  classKind
	box   bool   // it has a state machine
	pool  bool   // the same, and it is no Task
	size  uint64 // of an object, bytes, with the word before it
}

// isDelay reports whether it is what Task.Delay returns. Its first field is its timer, null if it has no end.
func (k *class) isDelay() bool { return strings.HasPrefix(k.name, "Task+DelayPromise") }

type classKind int

const (
	otherClass classKind = iota
	taskClass
	actionClass
	listClass
)

// maxParents bounds the types that one inherits from.
const maxParents = 16

// classOf is the class of the object at a; nil if that is not known.
func (c *scan) classOf(a mem.Addr) *class {
	f := c.View.Fields(a)
	table := f.Addr(0) &^ tableMarks
	if f.Err != nil || table == 0 || table%wordSize != 0 {
		return nil
	}
	if k, ok := c.classes[table]; ok {
		return k
	}
	k := c.readClass(table)
	c.classes[table] = k
	return k
}

func (c *scan) readClass(table mem.Addr) *class {
	f := c.View.Fields(table)
	k := &class{size: f.Uint(tableSize, 4)}
	name, ok := c.nameOfTable(table)
	if f.Err != nil || !ok {
		return nil
	}
	first, _, _ := strings.Cut(name.Raw, "+") // of types in one another
	first, _, _ = strings.Cut(first, "`")
	namespace := strings.LastIndexByte(first, '.') + 1
	k.name, k.in = name.Raw[namespace:], first[:namespace]
	k.shown = strings.TrimPrefix(name.Shown, first[:namespace])
	k.pool = strings.HasPrefix(k.name, "PoolingAsyncValueTaskMethodBuilder`1+StateMachineBox`")
	k.box = k.pool || strings.Contains(k.name, "AsyncStateMachineBox`")
	switch {
	case name.Raw == "System.Action" || strings.HasPrefix(name.Raw, "System.Action`"):
		k.kind = actionClass
	case name.Shown == "System.Collections.Generic.List<object>":
		k.kind = listClass
	case c.isTask(table):
		k.kind = taskClass
	}
	return k
}

func (c *scan) nameOfTable(table mem.Addr) (csharp.Text, bool) {
	c.r.types = 0
	t := c.r.typeOf(&c.View, table, maxTypeDepth)
	if c.Miss(t.fault()); t.Kind != NamedType || t.Err != nil {
		return csharp.Text{}, false
	}
	n := c.r.names
	n.fault = nil
	name := n.text(&t)
	c.Miss(n.fault)
	return name, n.fault == nil
}

// isTask reports whether a type is Task, or inherits from it.
func (c *scan) isTask(table mem.Addr) bool {
	for range maxParents {
		if table == 0 {
			return false
		}
		f := c.View.Fields(table)
		parent, module := f.Addr(tableParent), f.Addr(c.r.layout.tableModule)
		if f.Err != nil {
			return false
		}
		if module == c.core {
			if name, ok := c.nameOfTable(table); ok && name.Raw == "System.Threading.Tasks.Task" {
				return true
			}
		}
		table = parent
	}
	return false
}

// readBox reads what the box b waits for, and who waits for it. It is false for none.
func (c *scan) readBox(b *box) bool {
	m, v := b.machine, &c.View
	if _, ok := v.Bytes(b.at, taskEnd); !ok { // so that it is kept whole
		return false
	}
	f := v.Fields(b.at)
	table, flags, next := f.Addr(0)&^tableMarks, uint32(f.Uint(taskFlags, 4)), f.Addr(taskContinuation)
	if f.Err != nil || table != m.box || !m.pooled && !isSuspended(flags) {
		return false
	}
	at := b.at + mem.Addr(m.offset)
	if m.boxed {
		if b.object = c.machineIn(b); b.object == 0 {
			return false
		}
		at = b.object + wordSize
	}
	b.state = unknown
	if m.layout.state != unknown {
		s := v.Fields(at)
		b.state = int32(s.Uint(m.layout.state, 4))
		if s.Err != nil || b.state < 0 { // it runs, or has ended
			return false
		}
	}
	if b.lets[0] = (continuation{next, 0}); m.pooled {
		b.lets[0] = continuation{b.at + wordSize, pooledWords}
	}
	if m.layout.iterator != unknown {
		b.lets[1] = continuation{at + mem.Addr(m.layout.iterator), iteratorWords}
	}
	for _, offset := range m.layout.awaiters {
		w := v.Fields(at)
		if o := w.Addr(offset); w.Err == nil && o != 0 && o%wordSize == 0 {
			if k := c.classOf(o); k != nil {
				b.awaits, b.classes = append(b.awaits, o), append(b.classes, k)
				d := c.View.Fields(o)
				b.timeless = k.isDelay() && d.Word(taskEnd) == 0 && d.Err == nil
				if lets, ok := c.letsOn(o, k); ok {
					b.back = append(b.back, lets)
				}
			}
		}
	}
	return !m.pooled || len(b.awaits) > 0 && b.state != unknown // else it is kept for the next call
}

// machineIn is the state machine of b, which is an object by itself: the reference to it is one of the first.
func (c *scan) machineIn(b *box) mem.Addr {
	const most = 8 // words: a result of the method may lie before it
	for i := range int64(most) {
		f := c.View.Fields(b.at)
		o := f.Addr(b.machine.first() + i*wordSize)
		if f.Err != nil || o == 0 || o%wordSize != 0 {
			continue
		}
		of := c.View.Fields(o)
		if table := of.Addr(0) &^ tableMarks; of.Err == nil && table == b.machine.table {
			return o
		}
	}
	return 0
}

// continuation is what lets boxes go on: an object, or so many references at an address.
type continuation struct {
	at    mem.Addr
	words int
}

const (
	maxFollowed   = 8       // objects between two boxes
	maxWaiters    = 1 << 20 // of all continuations together
	followedWords = 8       // of an object that is not known
	iteratorWords = 4       // of ManualResetValueTaskSourceCore
	pooledWords   = 6       // of an object that is no Task: these, behind what lets itself go on
)

// follow adds to to the boxes that the continuation o lets go on.
func (c *scan) follow(o mem.Addr, depth int, to *[]mem.Addr) {
	if o == 0 || o%wordSize != 0 || depth == 0 {
		return
	}
	if _, ok := c.isBox[o]; ok {
		if c.followed == maxWaiters {
			c.Full = true
			return
		}
		c.followed++
		*to = append(*to, o)
		return
	}
	k := c.classOf(o)
	if k == nil || k.box { // the method of one that is not known comes before those that wait for it
		return
	}
	f := c.View.Fields(o)
	switch k.kind {
	case actionClass:
		if target := f.Addr(delegateTarget); f.Err == nil && target != o {
			c.follow(target, depth-1, to)
		}
	case taskClass:
		if next := f.Addr(taskContinuation); f.Err == nil {
			c.follow(next, depth-1, to)
		}
	case listClass:
		n, items := f.Uint(listSize, 4), f.Addr(listItems)
		if f.Err == nil {
			c.Full = c.Full || n > maxWaiters
			c.followWords(items+arrayItems, int(min(n, maxWaiters)), depth-1, to)
		}
	default: // a continuation has an action or a task
		if k.size >= 3*wordSize {
			c.followWords(o+wordSize, int(min(k.size/wordSize-2, followedWords)), depth-1, to)
		}
	}
}

// letsOn is what o, which something waits for, lets go on.
func (c *scan) letsOn(o mem.Addr, k *class) (continuation, bool) {
	switch {
	case k.pool:
		return continuation{o + wordSize, pooledWords}, true
	case !k.box:
		return continuation{o, 0}, true
	}
	f := c.View.Fields(o)
	next := f.Addr(taskContinuation)
	return continuation{next, 0}, f.Err == nil
}

// readWaiters follows each continuation once, as many wait for the same: each is a part of the moment.
func (c *scan) readWaiters() (parts []moment.Part) {
	read := func(k continuation) {
		if _, known := c.waiters[k]; known || k.at == 0 {
			return
		}
		var to []mem.Addr
		if k.words > 0 {
			c.followWords(k.at, k.words, maxFollowed, &to)
		} else {
			c.follow(k.at, maxFollowed, &to)
		}
		if k.words == pooledWords {
			to = slices.DeleteFunc(to, func(o mem.Addr) bool { return o == k.at-wordSize }) // itself
		}
		slices.Sort(to)
		c.waiters[k] = slices.Compact(to)
		parts = append(parts, c.Moment.Part())
	}
	for i := range c.boxes {
		for _, k := range c.boxes[i].lets {
			read(k)
		}
		for _, k := range c.boxes[i].back {
			read(k)
		}
	}
	return parts
}

// letsGoOn reports whether what b leads to lets the box at an address go on.
func (c *scan) letsGoOn(lets []continuation, at mem.Addr) bool {
	return slices.ContainsFunc(lets, func(k continuation) bool {
		_, is := slices.BinarySearch(c.waiters[k], at)
		return is
	})
}

// followWords follows those of n references at a that are boxes, tasks or actions.
func (c *scan) followWords(a mem.Addr, n, depth int, to *[]mem.Addr) {
	for i := range n {
		f := c.View.Fields(a)
		o := f.Addr(int64(i) * wordSize)
		if f.Err != nil || o == 0 || o%wordSize != 0 {
			continue
		}
		if _, ok := c.isBox[o]; ok {
			c.follow(o, depth, to)
			continue
		}
		if k := c.classOf(o); k != nil && (k.kind == actionClass || k.kind == taskClass) {
			c.follow(o, depth, to)
		}
	}
}

package object

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// TaskLayout is of TaskObj, a task of asyncio in C, in bytes from its start; what a future has is at the same place.
type TaskLayout struct {
	Loop, Callback, Callbacks int
	State                     int // int: pending, cancelled, finished
	Awaits                    int // the future that it waits for
	Coro, Name                int
	AwaitedBy, AwaitedBySet   int // AwaitedBySet is a byte; 0 before 3.14
	Node                      int // of the list of all tasks; 0 before 3.14
	Size                      int // up to the last field that is read

	// Heads of lists of tasks, and what a thread runs, from 3.14 on.
	InterpTasks, ThreadTasks int
}

// tasks are the layouts of 3.8 to 3.13. Source: FutureObj_HEAD and TaskObj in Modules/_asynciomodule.c.
var tasks = [...]TaskLayout{
	{State: 72, Coro: 112}, {State: 80, Coro: 152}, {State: 88, Coro: 160}, {State: 88, Coro: 136},
	{State: 88, Coro: 136}, {State: 96, Coro: 120},
}

// TaskLayout returns that of a release that does not describe its tasks.
func (l *Layout) TaskLayout() (*TaskLayout, error) {
	i := l.Version.Minor - firstMinor
	if i < 0 || i >= len(tasks) {
		return nil, fmt.Errorf("CPython %v: tasks of asyncio: %w", l.Version, ErrUnknown)
	}
	t := tasks[i]
	t.State += l.Header - 16
	t.Coro += l.Header - 16
	return l.complete(&t), nil
}

// AsyncioDebugSize is the size of what section .AsyncioDebug holds, from 3.14 on.
const AsyncioDebugSize = 13 * 8

// DescribedTasks returns the layout by what section .AsyncioDebug holds.
// Source: struct _Py_AsyncioModuleDebugOffsets in Modules/_asynciomodule.c.
func (l *Layout) DescribedTasks(b []byte) (*TaskLayout, error) {
	if len(b) < AsyncioDebugSize {
		return nil, fmt.Errorf("CPython %v: tasks of asyncio: %w", l.Version, errOffsets)
	}
	var words [13]int
	for i := range words {
		v := order.Uint64(b[8*i:])
		if v > maxOffset || i < 7 && v > 512 {
			return nil, fmt.Errorf("CPython %v: tasks of asyncio: %w", l.Version, errOffsets)
		}
		words[i] = int(v)
	}
	const size, awaitedBy, isTask, awaitedBySet, coro, node, interpTasks, threadTasks = 0, 2, 3, 4, 5, 6, 8, 12
	t := &TaskLayout{State: words[isTask] - 4, Coro: words[coro], AwaitedBy: words[awaitedBy],
		AwaitedBySet: words[awaitedBySet], Node: words[node], InterpTasks: words[interpTasks],
		ThreadTasks: words[threadTasks]}
	if t.State < l.Header || t.Coro < l.Header+8 || t.AwaitedBy < l.Header || t.Node < l.Header || words[size] == 0 {
		return nil, fmt.Errorf("CPython %v: tasks of asyncio: %w", l.Version, errOffsets)
	}
	return l.complete(t), nil
}

// complete fills in what is at the same place in all releases.
func (l *Layout) complete(t *TaskLayout) *TaskLayout {
	t.Loop, t.Callback, t.Callbacks = l.Header, l.Header+8, l.Header+24
	t.Awaits, t.Name = t.Coro-8, t.Coro+8
	t.Size = max(t.State, t.Name, t.AwaitedBy, t.AwaitedBySet, t.Node+8) + 8
	return t
}

// Task is a task of asyncio.
type Task struct {
	Addr, Loop          mem.Addr
	Callback, Callbacks mem.Addr
	Pending             bool
	Awaits              mem.Addr // the future that it waits for, 0 for none
	Coro                mem.Addr
	Name                mem.Addr // a str, or an int N for "Task-N"
	AwaitedBy           mem.Addr // one that waits for it, or a set of them; 0 for none
	AwaitedBySet        bool
	Next                mem.Addr // node of the next in the list; 0 where there is none
}

// TaskOf decodes the task at a, whose first Size bytes are b.
func (t *TaskLayout) TaskOf(a mem.Addr, b []byte) Task {
	word := func(at int) mem.Addr { return mem.Addr(order.Uint64(b[at:])) }
	out := Task{Addr: a, Loop: word(t.Loop), Callback: word(t.Callback), Callbacks: word(t.Callbacks),
		Pending: order.Uint32(b[t.State:]) == 0, Awaits: word(t.Awaits), Coro: word(t.Coro), Name: word(t.Name)}
	if t.AwaitedBy != 0 {
		out.AwaitedBy, out.AwaitedBySet = word(t.AwaitedBy), b[t.AwaitedBySet] != 0
	}
	if t.Node != 0 {
		out.Next = word(t.Node)
	}
	return out
}

// PendingAt reports whether the future of C at a is not done.
func (t *TaskLayout) PendingAt(m *view.View, a mem.Addr) (pending, ok bool) {
	b, ok := m.Bytes(a+mem.Addr(t.State), 4)
	return ok && order.Uint32(b) == 0, ok
}

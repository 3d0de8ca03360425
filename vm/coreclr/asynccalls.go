package coreclr

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/chains"
	"github.com/fpstack/fpstack/vm/coreclr/il"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/suspended"
	"github.com/fpstack/fpstack/vm/view"
)

// OpenFibers implements vm.FiberLister.
func (r *Runtime) OpenFibers() (bool, error) {
	return r.searched.CanBeSearched() && r.o.version.Major >= 8, nil
}

// Fibers implements vm.FiberLister: the async methods that wait, each with those that wait for it. They are of a moment
// after the stop.
func (r *Runtime) Fibers(*snapshot.Snapshot) ([]snapshot.Fiber, error) {
	r.List.Clear()
	c, ended := suspended.Best(r.newScan) // what it has found is there whatever ended it
	defer func() {
		c.Keep()
		c.Close()
	}()
	fibers := r.listed(c)
	problem := c.Problem("async methods")
	if problem == nil && c.doubtful > 0 {
		problem = fmt.Errorf("async methods may be missing: of %d it is not known whether they are what the garbage "+
			"collector has left of others", c.doubtful)
	}
	return fibers, cmp.Or(problem, ended)
}

// listed makes fibers of what c found.
func (r *Runtime) listed(c *scan) []snapshot.Fiber {
	number := map[mem.Addr]int{}
	for i := range c.boxes {
		number[c.boxes[i].at] = i
	}
	awaiting := make([][]int, len(c.boxes))
	n := suspendedNames{r: r, known: map[methodPlace]suspended.Frame{}}
	frames := make([]suspended.Frame, len(c.boxes))
	left := maxWaiters
	for i := range c.boxes {
		frames[i] = n.frame(&c.boxes[i])
		for _, lets := range c.boxes[i].lets {
			if left -= len(c.waiters[lets]); left < 0 {
				c.Full = true
				break
			}
			for _, w := range c.waiters[lets] {
				if k, ok := number[w]; ok {
					awaiting[i] = append(awaiting[i], k)
				}
			}
		}
		slices.Sort(awaiting[i])
		awaiting[i] = slices.Compact(awaiting[i])
	}
	return r.List.Make(frames, awaiting, func(x *chains.Chain) suspended.Wait {
		a := c.awaited(&c.boxes[x.Nodes[0]], number, x.Cycle)
		return suspended.Wait{Text: a.text(), Kind: a.wait()}
	})
}

// awaited is what an async method waits for.
type awaited struct {
	kind  awaitedKind
	class string
}

type awaitedKind int

const (
	awaitedUnknown awaitedKind = iota
	awaitedItself
	awaitedOthers // that are shown
	awaitedTimer
	awaitedCancellation
	awaitedSemaphore
	awaitedSender  // of a channel
	awaitedRoom    // in a channel
	awaitedChannel // one of these
	awaitedSocket
	awaitedSource // a task that somebody sets the result of
	awaitedAll    // of several tasks
	awaitedAny    // one of several
	awaitedHidden // a method that is not shown
	awaitedClass
)

// awaited is what b waits for. number are the boxes that are shown.
func (c *scan) awaited(b *box, number map[mem.Addr]int, cycle bool) awaited {
	if cycle {
		return awaited{kind: awaitedItself}
	}
	out := awaited{}
	for i, o := range b.awaits {
		if _, ok := number[o]; ok {
			return awaited{kind: awaitedOthers}
		}
		if out.kind == awaitedUnknown {
			out = awaitedOf(b.classes[i])
		}
		if out.kind == awaitedTimer && b.timeless {
			out.kind = awaitedCancellation
		}
	}
	return out
}

// kestrelSockets is where ASP.NET has what waits for its sockets: SocketReceiver, SocketSender.
const kestrelSockets = "Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets.Internal."

func awaitedOf(k *class) awaited {
	name, _, _ := strings.Cut(k.name, "`")
	switch {
	case k.box:
		return awaited{kind: awaitedHidden}
	case k.isDelay(), name == "PeriodicTimer+State":
		return awaited{kind: awaitedTimer}
	case name == "SemaphoreSlim+TaskNode":
		return awaited{kind: awaitedSemaphore}
	case name == "Socket+AwaitableSocketAsyncEventArgs", strings.HasPrefix(name, "Socket") && k.in == kestrelSockets:
		return awaited{kind: awaitedSocket}
	case k.in == "System.Threading.Channels.":
		return awaited{kind: channelOperation(name)}
	case name == "Task" && !strings.Contains(k.name, "+"):
		return awaited{kind: awaitedSource}
	case strings.HasPrefix(name, "Task+WhenAllPromise"):
		return awaited{kind: awaitedAll}
	case strings.HasPrefix(name, "TaskFactory+CompleteOnInvokePromise"), strings.HasPrefix(name, "Task+TwoTaskWhenAny"):
		return awaited{kind: awaitedAny}
	}
	return awaited{awaitedClass, k.shown}
}

// channelOperation is what an operation of a channel waits for, by its class: of 10, and of 8 and 9, where what reads
// and what waits for room to write are alike.
// Source: src/libraries/System.Threading.Channels of dotnet/runtime.
func channelOperation(class string) awaitedKind {
	switch class {
	case "WaitingReadAsyncOperation", "BlockedReadAsyncOperation":
		return awaitedSender
	case "WaitingWriteAsyncOperation", "BlockedWriteAsyncOperation", "VoidAsyncOperationWithData":
		return awaitedRoom
	}
	return awaitedChannel
}

func (a awaited) text() string {
	switch a.kind {
	case awaitedItself:
		return "awaits itself: a cycle"
	case awaitedOthers:
		return "awaits other async calls"
	case awaitedTimer:
		return "awaits a timer"
	case awaitedCancellation:
		return "awaits cancellation"
	case awaitedSemaphore:
		return "awaits a SemaphoreSlim"
	case awaitedSender:
		return "awaits a sender of a channel"
	case awaitedRoom:
		return "awaits room in a channel"
	case awaitedChannel:
		return "awaits a channel"
	case awaitedSocket:
		return "awaits a socket"
	case awaitedSource:
		return "awaits the result of a TaskCompletionSource"
	case awaitedAll:
		return "awaits all of several tasks"
	case awaitedAny:
		return "awaits one of several tasks"
	case awaitedHidden:
		return "awaits an async method"
	case awaitedClass:
		return "awaits " + a.class
	}
	return "what it awaits is not known"
}

func (a awaited) wait() snapshot.FiberWait {
	switch a.kind {
	case awaitedTimer:
		return snapshot.FiberTimer
	case awaitedSemaphore:
		return snapshot.FiberCond
	case awaitedSender:
		return snapshot.FiberReceive
	case awaitedRoom:
		return snapshot.FiberSend
	case awaitedSocket:
		return snapshot.FiberNet
	case awaitedItself:
		return snapshot.FiberNobody
	}
	return snapshot.FiberFuture
}

// methodPlace is where a method waits.
type methodPlace struct {
	machine mem.Addr
	state   int32
}

// suspendedNames names async methods that wait: many wait at the same place.
type suspendedNames struct {
	r     *Runtime
	known map[methodPlace]suspended.Frame
}

func (n *suspendedNames) frame(b *box) suspended.Frame {
	key := methodPlace{b.machine.table, b.state}
	out, ok := n.known[key]
	if !ok {
		out = n.named(b)
		n.known[key] = out
	}
	return out
}

var errNoMoveNext = errors.New("its state machine has no method that goes on")

const moveNext = "MoveNext"

func (n *suspendedNames) named(b *box) suspended.Frame {
	r, m := n.r, b.machine
	out := suspended.Frame{Frame: unwind.Frame{Origin: unwind.ByRuntime, Runtime: r}, Own: true}
	a := r.names.assembly(&m.typ.Module)
	err := a.err
	var row uint32
	var code []byte
	if err == nil {
		out.Own = !isFramework(a.name)
		row, code, err = n.moveNext(m, a)
	}
	method := &Method{Class: ILMethod, Token: methodTokens | row, Module: m.typ.Module, Type: m.typ}
	if err == nil {
		method.origin = r.origin(method)
		method.IL, method.HasIL = yieldOffset(a.tables, code, b.state)
		if !method.HasIL {
			out.Note = "where it waits is not known"
		}
		out.Site = r.site(method, mem.Addr(b.state+1))
		if out.Site == 0 {
			err = sites.ErrNoRoom
		}
	}
	if err != nil {
		out.Note = "not named: " + r.String() + ": " + err.Error()
	}
	return out
}

// isFramework reports whether an assembly is part of .NET.
func isFramework(name string) bool {
	return strings.HasPrefix(name, "System.") || strings.HasPrefix(name, "Microsoft.Extensions.") ||
		strings.HasPrefix(name, "Microsoft.AspNetCore.")
}

// maxBody bounds the code of one method, bytes.
const maxBody = 1 << 20

// moveNext is the method of a state machine that goes on, and its code; nil where that cannot be read.
func (n *suspendedNames) moveNext(m *machine, a *assembly) (row uint32, code []byte, err error) {
	methods, err := a.tables.Methods(m.typ.Token & rowMask)
	if err != nil {
		return 0, nil, err
	}
	for row = methods.First; row < methods.End; row++ {
		name, rva, err := a.tables.MethodBody(row)
		if err != nil {
			return 0, nil, err
		}
		if name == moveNext {
			return row, n.body(&m.typ.Module, rva), nil
		}
	}
	return 0, nil, errNoMoveNext
}

// body is the code of the method whose body is at an RVA; nil if it cannot be read: then its line is not known.
func (n *suspendedNames) body(m *Module, rva uint32) []byte {
	im, err := n.r.names.image(m)
	if err != nil || rva == 0 {
		return nil
	}
	at, ok := im.Addr(rva)
	if !ok {
		return nil
	}
	v := view.Lasting(n.r.live, n.r.budget)
	offset, size, err := il.Extent(v.UpTo(at, il.HeadSize))
	if err != nil || size > maxBody {
		return nil
	}
	b, _ := v.Bytes(at+mem.Addr(offset), int(size))
	return b
}

// yieldOffset is where in code a state machine is made to wait at that state.
func yieldOffset(t *metadata.Tables, code []byte, state int32) (offset int, ok bool) {
	if state < 0 {
		return 0, false
	}
	// What is found before the code makes no sense any more is right.
	_ = il.Constants(code, func(at, field uint32, value int32) bool {
		if value != state {
			return true
		}
		if name, err := t.FieldName(field); err != nil || !isStateField(name) {
			return true
		}
		offset, ok = int(at), true
		return false
	})
	return offset, ok
}

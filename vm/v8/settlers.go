package v8

import (
	"cmp"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/chains"
)

// settler is who can settle a promise that an async function waits for.
type settler struct {
	kind  settlerKind
	class string // of an object that has what settles it
}

type settlerKind int

const (
	settledByUnknown  settlerKind = iota
	settledByNobody               // nothing leads to what would settle it
	settledByItself               // it waits for itself, by others
	settledByOthers               // by functions that are shown
	settledByTimer                // a timer
	settledByRequest              // an object of C++: a request of Node.js
	settledByObject               // an object, by its class
	settledByMap                  // what is in a Map
	settledBySet                  //
	settledByArray                //
	settledByVariable             // of a closure
	settledByHandler              // a handler of another promise
	settledByJob                  // a job that runs next
	settledByNative               // C++ alone
	settledByModule               // a module that is being evaluated
	settledByFunction             // an async function that is not shown
	settledNever                  // not waiting at all as far as known
)

// text is the state of a function that waits for it.
func (s settler) text() string {
	switch s.kind {
	case settledByNobody:
		return "awaits a promise that nothing can settle"
	case settledByItself:
		return "awaits itself: a cycle"
	case settledByOthers:
		return "awaits other async calls"
	case settledByTimer:
		return "awaits a timer"
	case settledByRequest:
		return "awaits a request: " + s.class
	case settledByObject:
		return "awaits a promise held by " + cmp.Or(s.class, "an object")
	case settledByMap:
		return "awaits a promise held by a Map"
	case settledBySet:
		return "awaits a promise held by a Set"
	case settledByArray:
		return "awaits a promise held by an array"
	case settledByVariable:
		return "awaits a promise held by a variable"
	case settledByHandler:
		return "awaits a handler of another promise"
	case settledByJob:
		return "goes on next"
	case settledByNative:
		return "awaits a promise held by native code"
	case settledByModule:
		return "awaits the evaluation of a module"
	case settledByFunction:
		return "awaits an async function"
	case settledNever:
		return "what it awaits is not known"
	}
	return "awaits a promise"
}

func (s settler) wait() snapshot.FiberWait {
	switch s.kind {
	case settledByTimer:
		return snapshot.FiberTimer
	case settledByJob:
		return snapshot.FiberRuns
	case settledByNobody, settledByItself:
		return snapshot.FiberNobody
	}
	return snapshot.FiberFuture
}

// settler is who lets chain x go on.
func (l *links) settler(of map[mem.Addr]settler, x *chains.Chain) settler {
	if x.Cycle {
		return settler{kind: settledByItself}
	}
	first := x.Nodes[0]
	switch leaves := l.leaves[first]; {
	case !l.linked[first]:
		return settler{kind: settledNever}
	case len(leaves) == 0:
		return settler{kind: settledByOthers}
	default:
		best := of[leaves[0]]
		for _, p := range leaves[1:] {
			if of[p].kind > best.kind {
				best = of[p]
			}
		}
		return best
	}
}

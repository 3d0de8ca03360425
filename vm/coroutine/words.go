package coroutine

import (
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/suspended"
)

// waitOf says what f waits for: in a coroutine that goes on at that place; others says that it is another one.
func waitOf(f *frame, at *place, others, cycle bool) suspended.Wait {
	switch {
	case f.runs:
		return suspended.Wait{Text: "is on the stack of a thread", Kind: snapshot.FiberRuns}
	case cycle:
		return suspended.Wait{Text: "awaits itself: a cycle", Kind: snapshot.FiberNobody}
	case others:
		return suspended.Wait{Text: "awaits other async calls", Kind: snapshot.FiberFuture}
	case !f.held:
		return suspended.Wait{Text: "nothing leads to it: abandoned, or freed", Kind: snapshot.FiberNobody}
	case at == nil:
		return suspended.Wait{Text: unknown}
	case f.known && !at.begun:
		return suspended.Wait{Text: "has not begun", Kind: snapshot.FiberFuture}
	case strings.HasSuffix(at.awaiter, "::suspend_always"):
		return suspended.Wait{Text: "awaits that it is resumed", Kind: snapshot.FiberFuture}
	}
	if w, ok := ofAsio(at.frame.Func); ok {
		return w
	}
	if at.awaiter == "" {
		return suspended.Wait{Text: unknown}
	}
	return suspended.Wait{Text: "awaits " + plain(at.awaiter), Kind: snapshot.FiberFuture}
}

const unknown = "what it awaits is not known"

// asio are the operations of Asio that a coroutine awaits, by what the name of the coroutine has in it which Asio makes
// for each: boost/asio/use_awaitable.hpp.
var asio = []struct {
	operation string
	is        suspended.Wait
}{
	{"basic_waitable_timer<", suspended.Wait{Text: "awaits a timer", Kind: snapshot.FiberTimer}},
	{"async_accept", suspended.Wait{Text: "awaits a connection", Kind: snapshot.FiberNet}},
	{"async_move_accept", suspended.Wait{Text: "awaits a connection", Kind: snapshot.FiberNet}},
	{"basic_signal_set<", suspended.Wait{Text: "awaits a signal", Kind: snapshot.FiberFuture}},
	{"basic_resolver<", suspended.Wait{Text: "awaits the address of a name", Kind: snapshot.FiberNet}},
	{"_socket<", suspended.Wait{Text: "awaits a socket", Kind: snapshot.FiberNet}},
	{"descriptor<", suspended.Wait{Text: "awaits a descriptor", Kind: snapshot.FiberNet}},
}

// ofAsio is what the coroutine of that name awaits, if it is Asio's for one operation.
func ofAsio(name string) (suspended.Wait, bool) {
	_, initiated, ok := strings.Cut(name, "asio::async_result<")
	if !ok {
		return suspended.Wait{}, false
	}
	if _, initiated, ok = strings.Cut(initiated, "::initiate<"); !ok {
		return suspended.Wait{}, false
	}
	for i := range asio {
		if strings.Contains(initiated, asio[i].operation) {
			return asio[i].is, true
		}
	}
	return suspended.Wait{}, false
}

// maxType bounds what is shown of a type, bytes.
const maxType = 120

// plain is the name of a type without arguments.
func plain(name string) string {
	var b strings.Builder
	depth := 0
	for _, c := range name {
		switch c {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
			continue
		}
		if depth <= 0 {
			b.WriteRune(c)
		}
	}
	out := b.String()
	if len(out) > maxType {
		out = strings.ToValidUTF8(out[:maxType], "") + "…"
	}
	return out
}

// libraries are what names of coroutines begin with that are not the program's own.
var libraries = []string{"boost::", "asio::", "std::", "cppcoro::", "folly::", "unifex::", "seastar::", "__gnu_cxx::"}

// isOfProgram reports whether a coroutine is the program's own: it is in no library that is known.
func isOfProgram(f *profile.Frame) bool {
	for _, l := range libraries {
		if strings.HasPrefix(f.Func, l) {
			return false
		}
	}
	return !strings.HasPrefix(f.File, "/usr/include/")
}

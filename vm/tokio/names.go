package tokio

import (
	"strings"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/symbol"
)

// The name of a future is in no table: it is that of the function that drops it, which the function of its task that
// frees all of it calls, if a symbol names that.

const (
	// maxFunction bounds the code of a function that is looked at, bytes.
	maxFunction = 4 << 10
	// maxCalls bounds the calls of it.
	maxCalls = 32
	// maxName bounds the name of a future, bytes.
	maxName = 1 << 10
)

// future is the name of the future of tasks with that table, "" if it is not known.
func (r *Runtime) future(t *vtable) string {
	name, ok := r.names[t.at]
	if !ok {
		name = r.droppedBy(t.dealloc)
		if name == "" {
			for _, f := range r.callees(t.dealloc) {
				if name = r.droppedBy(f); name != "" {
					break
				}
			}
		}
		r.names[t.at] = name
	}
	return name
}

// droppedBy is the future that functions are for which the one at a calls, "" if none says so.
func (r *Runtime) droppedBy(a mem.Addr) string {
	callees := r.callees(a)
	addrs := make([]module.Vaddr, len(callees))
	for i, f := range callees {
		addrs[i] = r.vaddr(f)
	}
	found, err := r.symbols.Lookup(addrs)
	if err != nil {
		return ""
	}
	for _, s := range found {
		if s == nil {
			continue
		}
		if name := futureOf(symbol.Demangle(s.Name)); name != "" {
			return name
		}
	}
	return ""
}

// callees are the functions that the one at a calls directly.
func (r *Runtime) callees(a mem.Addr) (out []mem.Addr) {
	found, err := r.symbols.Lookup([]module.Vaddr{r.vaddr(a)})
	if err != nil || found[0] == nil {
		return nil
	}
	size := min(uint64(found[0].End-r.vaddr(a)), maxFunction)
	b := r.bytesAt(a, int(size))
	for at := a; len(b) > 0 && len(out) < maxCalls && r.budget.Spend(decodeCost); {
		size, to := r.port.call(b, at)
		if size == 0 {
			return out
		}
		if to != 0 {
			out = append(out, to)
		}
		at, b = at+mem.Addr(size), b[size:]
	}
	return out
}

const decodeCost = 50

// holders are the types of tokio that have the future of a task in them, as the demangled names of the functions that
// drop them write them.
var holders = []string{"tokio::runtime::task::core::Cell<", "tokio::runtime::task::core::CoreStage<",
	"tokio::runtime::task::core::Stage<", "tokio::runtime::task::core::Core<"}

// futureOf is the future in the name of a function that drops what a task has, "" if it drops another thing.
func futureOf(name string) string {
	for _, h := range holders {
		_, of, ok := strings.Cut(name, h)
		if !ok || len(of) > maxName {
			continue
		}
		return plainName(firstArgument(of))
	}
	return ""
}

// firstArgument is s up to the comma or bracket that ends the first of a list of generic arguments.
func firstArgument(s string) string {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '<', '(', '[', '{':
			depth++
		case '>', ')', ']', '}':
			if s[i] == '>' && i > 0 && s[i-1] == '-' { // of a function's type
				continue
			}
			if depth--; depth < 0 {
				return s[:i]
			}
		case ',':
			if depth == 0 {
				return s[:i]
			}
		}
	}
	return s
}

// plainName is the name of an async function or block without what the compiler calls the future of it.
func plainName(s string) string {
	for {
		short := strings.TrimSuffix(s, "::{{closure}}")
		if i := strings.LastIndex(short, "::{async_fn"); i > 0 && strings.HasSuffix(short, "}") {
			short = short[:i]
		}
		if i := strings.LastIndex(short, "::{closure#"); i > 0 && strings.HasSuffix(short, "}") {
			short = short[:i]
		}
		if short == s {
			return s
		}
		s = short
	}
}

package tokio

import (
	"path"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// waiting is a chain of async functions, innermost first, with what the innermost waits for.
type waiting struct {
	frames []profile.Frame
	cut    bool // there are more than are shown: the outer ones are missing
	within bool // as that of its scope
	awaits awaited
	of     string   // the type of what a lock guards, "" if it is not known
	timed  bool     // a timer lets it go on, too
	first  int      // the first step of the trace that polls it
	at     *node    // the place
	works  []atomic // the steps that are about what is awaited
}

// isPartOf reports whether f is a closure that a macro has made at the place where it stands: as select! does.
func isPartOf(f, of *profile.Frame) bool {
	if f.File != of.File || f.Line != of.Line || f.Line == 0 {
		return false
	}
	rest, inside := strings.CutPrefix(f.Func, of.Func)
	return inside && rest != "" || strings.HasPrefix(f.Func, "{closure")
}

// libraries are the crates whose functions are not the program's own, where no file tells.
var libraries = []string{"tokio", "core", "std", "alloc", "mio", "futures", "futures_util", "futures_core",
	"futures_channel", "parking_lot", "hashbrown", "bytes", "tokio_util", "tokio_stream", "async_trait", "tracing",
	"hyper", "hyper_util", "tower", "h2", "compiler_builtins"}

// isLibrary reports whether f is of a library: of those that cargo has fetched, and of Rust itself.
func isLibrary(f *profile.Frame) bool {
	if f.File != "" {
		return isOfRust(f) || strings.Contains(f.File, "/registry/src/") ||
			strings.Contains(f.File, "/git/checkouts/") || strings.Contains(f.File, "/vendor/")
	}
	crate, _, ok := strings.Cut(strings.TrimLeft(f.Func, "<&*("), "::")
	return !ok || slices.Contains(libraries, crate)
}

// isOfRust reports whether the file of f is one of Rust's own libraries.
func isOfRust(f *profile.Frame) bool {
	return strings.HasPrefix(f.File, "/rustc/") || strings.Contains(f.File, "/rustlib/src/") ||
		strings.HasPrefix(f.File, "library/")
}

// isForeign reports whether f, of a library, is neither of tokio nor of Rust itself.
func isForeign(f *profile.Frame) bool {
	return strings.Contains(f.File, "/registry/src/") && !strings.Contains(f.File, "/tokio-") ||
		strings.Contains(f.File, "/git/checkouts/") || strings.Contains(f.File, "/vendor/")
}

// waits are the chains in which t waits, the one that was polled first in front. Of a task that was made to go on
// meanwhile only that is where it waited: what follows is what it would do next. In all others a function polls at one
// place alone, so that places are told apart by their lines, too: names of inlined functions may be the same.
func (b *book) waits(t *trace, ready bool) []waiting {
	var polled, all spots
	clear(b.left)
	callers := b.callers(t)
	for number, s := range t.steps {
		if !b.spend(placeCost) {
			return nil
		}
		at := b.enter(callers[s.call], s.pc)
		if at.own == nil {
			continue
		}
		if inner := b.library(at.inner); inner.polls {
			polled.at(&at, number).polls(inner, number, b.r.takes[s.pc])
		} else {
			all.at(&at, number)
		}
	}
	if len(polled.all) == 0 {
		return all.lastChain()
	}
	out := polled.waitings(b.plainLeft())
	if ready {
		out = out[:min(1, len(out))]
	}
	return out
}

// placeCost is what it takes to tell where a step or a call was, in steps of the budget.
const placeCost = 200

// polls reports whether f is a function that polls a future, or the future of an async function.
func polls(f profile.Frame) bool {
	name, _, _ := strings.Cut(f.Func, "<")
	if strings.HasPrefix(f.Func, "<") {
		name = f.Func[strings.LastIndex(f.Func, ">")+1:]
	}
	name = name[strings.LastIndex(name, ":")+1:]
	return strings.HasPrefix(name, "poll") || strings.Contains(f.Func, "{async_") || name == "{{closure}}"
}

// shown is what of f is shown: a place, which has no address.
func shown(f *profile.Frame) profile.Frame {
	name := f.Func
	if plain := plainName(name); plain != "" {
		name = plain
	}
	return profile.Frame{Func: name, Linkage: f.Linkage, File: f.File, Line: f.Line}
}

// modulePath is the module of tokio that f is in, as "sync/mutex", "" if it is of something else.
func modulePath(f *profile.Frame) string {
	if f.File != "" {
		_, rest, ok := strings.Cut(f.File, "/tokio-")
		_, rest, ok2 := strings.Cut(rest, "/src/")
		if !ok || !ok2 {
			return ""
		}
		return strings.TrimSuffix(rest, path.Ext(rest))
	}
	_, rest, ok := strings.Cut(f.Func, "tokio::")
	if !ok {
		return ""
	}
	return strings.ReplaceAll(rest, "::", "/")
}

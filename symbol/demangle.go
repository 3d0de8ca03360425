package symbol

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Bounds of demangling, bytes. A short name can stand for one of exponential length.
const (
	maxMangled   = 4 << 10
	maxDemangled = 14 // as a power of two
)

// coldMark is put behind the name of a function whose unlikely part was moved elsewhere.
const coldMark = " [cold]"

// Demangle returns a name of a symbol table as a person reads it in a stack: C++ with the
// arguments of templates and without parameters, as gdb shows a frame
// ("std::vector<int>::push_back"); Rust without hash. The unlikely part of a function, which gcc and
// clang name "f.cold", is "f [cold]". A name that is not mangled, that is longer than 4 KB or does not
// parse is returned as it is.
func Demangle(linkage string) string {
	name, cold := splitCold(linkage)
	name = filter(name, demangle.NoParams)
	if cold {
		name += coldMark
	}
	return name
}

// DemangleFull is Demangle with the parameters of C++ functions and the suffixes of copies that the compiler
// made ("f(int) [clone .part.0]").
func DemangleFull(linkage string) string { return filter(linkage) }

func filter(name string, options ...demangle.Option) string {
	if len(name) > maxMangled || !strings.HasPrefix(name, "_Z") && !strings.HasPrefix(name, "_R") && !strings.HasPrefix(name, "__Z") {
		return name
	}
	if out := demangle.Filter(name, append(options, demangle.MaxLength(maxDemangled))...); out != "" {
		return out
	}
	return name // "_RC0" is a crate whose name is empty
}

// splitCold cuts ".cold" or ".cold.N" from the end of a name.
func splitCold(name string) (parent string, cold bool) {
	end := strings.TrimRight(name, "0123456789")
	if end != name {
		if !strings.HasSuffix(end, ".cold.") {
			return name, false
		}
		end = end[:len(end)-1]
	}
	parent, cold = strings.CutSuffix(end, ".cold")
	if !cold || parent == "" {
		return name, false
	}
	return parent, true
}

package symbol

import (
	"slices"
	"strings"
	"time"

	"github.com/ianlancetaylor/demangle"

	"github.com/fpstack/fpstack/work"
)

// Bounds of demangling, bytes. A short name can stand for one of exponential length.
const (
	maxMangled   = 4 << 10
	maxDemangled = 14 // as a power of two
	// maxExpansion bounds what expansion says of a name, which takes up to half a microsecond for each. Of 124,000
	// names of LLVM, node and libstdc++ none has more than a tenth of it.
	maxExpansion = 1 << 20
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
	name = filter(name)
	if cold {
		name += coldMark
	}
	return name
}

// demangleWithin is Demangle that takes from b what names with packs take, the only ones that can take
// long; without b's leave they stay as they are. The clock decides, for their spelling does not tell.
func demangleWithin(b *work.Budget, linkage string) string {
	if expansion(linkage) == 0 {
		return Demangle(linkage)
	}
	if b.Err() != nil {
		return linkage
	}
	begun := time.Now()
	name := Demangle(linkage)
	if took := time.Since(begun); took > usualTime {
		b.Spend(took.Nanoseconds())
	}
	return name
}

// usualTime is longer than the names of real programs take.
const usualTime = 200 * time.Microsecond

func filter(name string) string {
	if len(name) > maxMangled || !strings.HasPrefix(name, "_Z") && !strings.HasPrefix(name, "_R") &&
		!strings.HasPrefix(name, "__Z") {
		return name
	}
	if expansion(name) > maxExpansion {
		return name
	}
	if out := demangle.Filter(name, demangle.NoParams, demangle.MaxLength(maxDemangled)); out != "" {
		return out
	}
	return name // "_RC0" is a crate whose name is empty
}

// expansion is how much work the packs of a C++ name can make: for each place that expands one, the square of
// the elements that it may have. A function inside of another is printed with the parameters of that one, and
// of 1,700 bytes 26 s were made.
//
// A pack has no more elements than there are lower-case letters, '_' and names of sources outside of those; what
// may not be the name of a source is counted letter by letter.
// Source: Itanium C++ ABI, section 5.1.
func expansion(name string) int {
	places, elements := 0, 0
	for i := 0; i < len(name); i++ {
		if i > 0 && slices.Contains(expanding, name[i-1:i+1]) {
			places++
		}
		switch c := name[i]; {
		case c == '_' || 'a' <= c && c <= 'z':
			elements++
		case '0' <= c && c <= '9':
			elements++
			i = behindSourceName(name, i)
		}
	}
	return places * elements * elements
}

// expanding are what expands a pack: as a type, as an expression, and its size.
var expanding = []string{"Dp", "sp", "sZ", "sP"}

// behindSourceName returns the index of the last byte of the number at i, or, if it surely begins the name of
// a source, of that name.
func behindSourceName(name string, i int) int {
	size, end := 0, i
	for ; end < len(name) && '0' <= name[end] && name[end] <= '9'; end++ {
		size = min(10*size+int(name[end]-'0'), len(name))
	}
	last := end - 1
	literal := i > 0 && (name[i-1] == '_' || name[i-1] == 'L') || i > 1 && name[i-2] == 'L' || i > 2 && name[i-3] == 'L'
	if literal || end+size > len(name) || end == len(name) || name[end] == '_' || name[end] == 'E' {
		return last
	}
	return end + size - 1
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

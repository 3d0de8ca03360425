package coroutine

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/symbol"
)

// kind is what the compiler has made of one coroutine.
type kind struct {
	resume  span
	destroy []mem.Addr // one, and one for frames inside of others
	ramp    span       // what makes a frame, and runs to the first place; empty where it is not known
	linkage string     // the name of the coroutine, "" if it is not known
	gcc     bool       // the number of a place is even, unless it is being ended
	index   field      // where in a frame the number of a place is; without size where that is not known
}

// span is the code of a function.
type span struct{ start, end mem.Addr }

func (s span) holds(a mem.Addr) bool { return s.start <= a && a < s.end }

// field is a number in a frame.
type field struct {
	offset int64
	size   int // bytes
}

// What compilers put behind the names of the functions of a coroutine: gcc/cp/coroutines.cc, and CoroSplit.cpp in
// llvm/lib/Transforms/Coroutines.
const (
	gccResume, gccDestroy                  = ".Frame.actor", ".Frame.destroy"
	clangResume, clangDestroy, clangInside = ".resume", ".destroy", ".cleanup"
)

const (
	maxKinds    = 1 << 14
	maxFunction = 1 << 20 // bytes of code
)

// mayHave reports whether a module may have coroutines: symbols of such names, or, without symbols, code of C++.
func mayHave(m *module.Module) bool {
	if s, ok := m.Section(".symtab"); ok && s.Size > 0 {
		return symbol.MayDefine(m, ".symtab", gccResume, clangResume)
	}
	_, comment, _ := m.Plain(".comment")
	_, ok := m.Section(".gcc_except_table")
	return ok && !bytes.Contains(comment, []byte("rustc"))
}

// findKinds finds the coroutines of the module.
func (r *Runtime) findKinds() ([]kind, error) {
	var kinds []kind
	var err error
	if s, ok := r.m.Section(".symtab"); ok && s.Size > 0 {
		kinds, err = r.named()
	} else {
		kinds, err = r.unnamed()
	}
	for i := range kinds {
		kinds[i].index = r.indexOf(&kinds[i])
	}
	slices.SortFunc(kinds, func(a, b kind) int { return cmp.Compare(a.resume.start, b.resume.start) })
	merged := kinds[:0]
	for _, k := range kinds {
		if n := len(merged); n > 0 && merged[n-1].resume.start == k.resume.start {
			merged[n-1].destroy = append(merged[n-1].destroy, k.destroy...)
			continue
		}
		merged = append(merged, k)
	}
	kinds = merged
	if len(kinds) == maxKinds && err == nil {
		err = fmt.Errorf("no more than %d coroutines of C++ are known", maxKinds)
	}
	return kinds, err
}

// named are the coroutines whose functions have symbols.
func (r *Runtime) named() ([]kind, error) {
	var out []kind
	ends := map[string][]mem.Addr{} // what ends them, by the name in front
	err := symbol.Each(r.m, ".symtab", func(name []byte, value module.Vaddr, size uint64) bool {
		if !bytes.ContainsRune(name, '.') || size == 0 || size > maxFunction {
			return true
		}
		at := r.m.Addr(value)
		if base, ok := cutAny(name, gccDestroy, clangDestroy, clangInside); ok {
			ends[base] = append(ends[base], at)
			return len(ends) < maxKinds
		}
		if base, ok := cutAny(name, gccResume, clangResume); ok {
			out = append(out, kind{resume: span{at, at + mem.Addr(size)}, linkage: base,
				gcc: bytes.HasSuffix(name, []byte(gccResume))})
		}
		return len(out) < maxKinds
	})
	kept := out[:0]
	for _, k := range out {
		if k.destroy = ends[k.linkage]; len(k.destroy) == 0 {
			continue
		}
		if k.gcc {
			k.linkage = ofFrame(k.linkage)
		}
		kept = append(kept, k)
	}
	return kept, errors.Join(err, r.findRamps(kept))
}

// findRamps finds the functions that have the names of the coroutines.
func (r *Runtime) findRamps(kinds []kind) error {
	of := map[string]int{}
	for i := range kinds {
		of[kinds[i].linkage] = i
	}
	if len(of) == 0 {
		return nil
	}
	return symbol.Each(r.m, ".symtab", func(name []byte, value module.Vaddr, size uint64) bool {
		if i, ok := of[string(name)]; ok && size <= maxFunction {
			kinds[i].ramp = span{r.m.Addr(value), r.m.Addr(value) + mem.Addr(size)}
		}
		return true
	})
}

// cutAny is name without the first of endings that it has.
func cutAny(name []byte, endings ...string) (base string, ok bool) {
	for _, e := range endings {
		if b, ok := bytes.CutSuffix(name, []byte(e)); ok {
			return string(b), true
		}
	}
	return "", false
}

// ofFrame is the mangled name of the coroutine in that of a function of GCC whose argument is the frame: an identifier
// with its length in front, at the end.
func ofFrame(name string) string {
	for at := len(name); at > 0; {
		if at = strings.LastIndex(name[:at], "_Z"); at < 0 {
			break
		}
		digits := at
		for digits > 0 && name[digits-1] >= '0' && name[digits-1] <= '9' {
			digits--
		}
		const frame = ".Frame"
		if n, err := strconv.Atoi(name[digits:at]); err == nil && n == len(name)-at+len(frame) {
			return name[at:]
		}
	}
	return name
}

// kindOf is the kind in whose function that goes on a is, nil for none.
func (r *Runtime) kindOf(a mem.Addr) *kind {
	i, found := slices.BinarySearchFunc(r.kinds, a, func(k kind, a mem.Addr) int {
		return cmp.Compare(k.resume.start, a)
	})
	if !found {
		i--
	}
	if i < 0 || !r.kinds[i].resume.holds(a) {
		return nil
	}
	return &r.kinds[i]
}

package hotspot

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/hotspot/codecache"
	"github.com/fpstack/fpstack/vm/view"
)

// maxListed bounds the blobs that are listed.
const maxListed = 1 << 20

// Functions implements vm.FunctionLister: compiled methods, native wrappers, stubs, and the pieces of the interpreter.
func (r *Runtime) Functions(yield func(start, end mem.Addr, name string) bool) error {
	j := r.jvm.Load()
	if j == nil {
		return r.err
	}
	for _, c := range j.codelets {
		if !yield(c.Start, c.End, "Interpreter "+c.Name) {
			return nil
		}
	}
	v := view.Over(nil, r.live, r.budget)
	var errs []error
	left := maxListed
	for i := range j.heaps {
		err := j.code.Each(&v, &j.heaps[i], func(start mem.Addr) bool {
			b, err := r.blob(&v, j, start)
			if left--; err != nil || b.Kind == codecache.Interpreter {
				return left > 0
			}
			return left > 0 && yield(b.Begin, b.End, r.nameOfBlob(&v, j, b))
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("list the code of %v: %w", r, err))
		}
	}
	if left <= 0 {
		errs = append(errs, fmt.Errorf("%v has more than %d pieces of code", r, maxListed))
	}
	return errors.Join(errs...)
}

// nameOfBlob is the method that b was made of, or what the JVM calls it.
func (r *Runtime) nameOfBlob(v *view.View, j *jvm, b *codecache.Blob) string {
	if b.Kind != codecache.Compiled && b.Kind != codecache.Wrapper {
		return b.Name
	}
	m, err := r.method(v, j, b.Method)
	if err != nil {
		return ""
	}
	return className(m.Class) + "." + m.Name
}

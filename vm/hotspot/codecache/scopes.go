package codecache

import (
	"encoding/binary"
	"errors"
	"sort"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/hotspot/unsigned5"
	"github.com/fpstack/fpstack/vm/view"
)

// Scope is a method and where in it, as code was made of it.
type Scope struct {
	Method mem.Addr
	BCI    int // -1: its entry
}

var (
	// ErrNoDebug says that nothing describes a place in code.
	ErrNoDebug = errors.New("nothing describes this place in the code")
	errScopes  = errors.New("what describes the code contradicts itself")
)

// maxDepth bounds the methods that are inlined in one another.
const maxDepth = 256

// Scopes returns the methods that execute at pc, innermost first: those that were inlined, and the one that was
// compiled. A return address is described by itself, an interrupted PC by the next place that is: then exact says
// whether that is the same. x decodes numbers.
func (l *Layout) Scopes(v *view.View, b *Blob, pc mem.Addr, interrupted bool, x unsigned5.Coding) (all []Scope,
	exact bool, err error) {
	offset, exact, err := l.describes(v, b, int64(pc-b.Begin), interrupted)
	if err != nil {
		return nil, false, err
	}
	size := int64(b.Code.Scopes.End - b.Code.Scopes.Start)
	for len(all) < maxDepth {
		if offset <= 0 || offset >= size {
			return nil, false, errScopes
		}
		at := b.Code.Scopes.Start + mem.Addr(offset)
		data := v.UpTo(at, int(min(size-offset, 3*unsigned5.MaxLen)))
		r := unsigned5.Reader{Data: data, Coding: x}
		sender, method, bci := int64(r.Next()), r.Next(), int(r.Next())-1
		switch {
		case r.Err != nil:
			return nil, false, errors.Join(errScopes, v.Refused())
		case method == 0 || method > maxTable/wordSize || sender >= offset:
			return nil, false, errScopes
		}
		m, err := v.Word(b.Code.Metadata + mem.Addr(method-1)*wordSize)
		if err != nil {
			return nil, false, err
		}
		all = append(all, Scope{mem.Addr(m), bci})
		if sender == 0 {
			return all, exact, nil
		}
		offset = sender
	}
	return nil, false, errScopes
}

// describes finds the scope of a place, by offset from the begin of the code.
func (l *Layout) describes(v *view.View, b *Blob, at int64, interrupted bool) (scope int64, exact bool, err error) {
	n := int(b.Code.PCs.End-b.Code.PCs.Start) / int(l.pcSize)
	data, ok := v.Bytes(b.Code.PCs.Start, n*int(l.pcSize))
	if !ok {
		return 0, false, v.Fault()
	}
	if !v.Spend(64) {
		return 0, false, v.Refused()
	}
	field := func(i int, offset int64) int64 {
		k := i*int(l.pcSize) + int(offset)
		if k+4 > len(data) {
			return -1
		}
		return int64(int32(binary.LittleEndian.Uint32(data[k:])))
	}
	i := sort.Search(n, func(i int) bool { return field(i, l.pcOffset.Offset) >= at })
	for ; i < n; i++ {
		found := field(i, l.pcOffset.Offset)
		if found != at && !interrupted {
			break
		}
		if s := field(i, l.pcScope.Offset); s > 0 { // the last is a mark
			return s, found == at, nil
		}
	}
	return 0, false, ErrNoDebug
}

package hotspot

import (
	"errors"
	"fmt"
	"sort"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/hotspot/codecache"
	"github.com/fpstack/fpstack/vm/hotspot/heap"
	"github.com/fpstack/fpstack/vm/hotspot/metadata"
	"github.com/fpstack/fpstack/vm/hotspot/threads"
	"github.com/fpstack/fpstack/vm/hotspot/vmstructs"
	"github.com/fpstack/fpstack/vm/view"
)

// jvm is what a JVM that has begun says of itself, which stays as it is.
type jvm struct {
	version   int // 8, 17
	code      *codecache.Layout
	meta      *metadata.Layout
	heap      *heap.Layout
	threads   *threads.Layout // nil where noThreads says why nothing is known of threads
	noThreads error
	heaps     []codecache.Heap
	low       mem.Addr // of all heaps
	high      mem.Addr
	codelets  []codecache.Codelet
	begin     mem.Addr // of the interpreter
	end       mem.Addr
	returns   mem.Addr // where calls from C++ return to
	bcpSlot   mem.Addr // of an interpreted frame, below its frame pointer
}

const oldest = 8 // version that is read

// readJVM reads it. [vmstructs.ErrNotReady] says that the JVM has not made its code yet.
func readJVM(v *view.View, symbols vmstructs.Symbols, p *port) (*jvm, error) {
	t, err := vmstructs.Read(v, symbols)
	if err != nil {
		return nil, err
	}
	j := &jvm{}
	if j.version, err = versionOf(v, t); err != nil {
		return nil, err
	}
	var errs [2]error
	j.code, errs[0] = codecache.ReadLayout(t)
	j.meta, errs[1] = metadata.ReadLayout(t, j.version)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	j.bcpSlot = mem.Addr(p.bcpSlot(j.version) * wordSize) // no constant says it
	if j.heap, j.noThreads = heap.ReadLayout(v, t, j.version, p.shifted); j.noThreads == nil {
		j.threads, j.noThreads = threads.ReadLayout(t)
	}
	if j.noThreads != nil {
		j.threads, j.noThreads = nil, fmt.Errorf("names of threads and locks: %w", j.noThreads)
	}
	return j, j.readCode(v)
}

// readCode reads where the code is.
func (j *jvm) readCode(v *view.View) (err error) {
	if j.heaps, err = j.code.Heaps(v); err != nil {
		return err
	}
	if j.codelets, err = j.code.Codelets(v); err != nil {
		return err
	}
	returns, err := v.Word(j.code.Returns)
	if err != nil {
		return err
	}
	if len(j.heaps) == 0 || len(j.codelets) == 0 || returns == 0 {
		return vmstructs.ErrNotReady
	}
	j.returns = mem.Addr(returns)
	j.low, j.high = j.heaps[0].Low, j.heaps[0].High
	for i := range j.heaps {
		j.low, j.high = min(j.low, j.heaps[i].Low), max(j.high, j.heaps[i].High)
	}
	j.begin, j.end = j.codelets[0].Start, j.codelets[len(j.codelets)-1].End
	return nil
}

// versionOf is the major version of the JDK.
func versionOf(v *view.View, t *vmstructs.Table) (int, error) {
	p := t.Pick()
	n := uint64(0)
	var err error
	if at := p.Static("_vm_major_version", "Abstract_VM_Version"); at != 0 {
		if n, err = v.Uint(at, 4); err == nil && n == 0 {
			return 0, vmstructs.ErrNotReady
		}
	}
	if at := p.Static("_current", "JDK_Version"); n < oldest+1 && at != 0 { // JDK 8 counts the JVM as 25
		n, err = v.Uint(at, 1)
	} else if n == 25 && at != 0 {
		if b, e := v.Uint(at, 1); e == nil && b == oldest {
			n = b
		}
	}
	const most = 1 << 10
	switch {
	case err != nil:
		return 0, err
	case n == 0:
		return 0, vmstructs.ErrNotReady
	case n < oldest || n > most:
		return 0, fmt.Errorf("its version, %d, is not read", n)
	}
	return int(n), nil
}

// heapOf is the part of the code cache that pc is in, nil if it is in none.
func (j *jvm) heapOf(pc mem.Addr) *codecache.Heap {
	if pc < j.low || pc >= j.high {
		return nil
	}
	for i := range j.heaps {
		if h := &j.heaps[i]; pc >= h.Low && pc < h.High {
			return h
		}
	}
	return nil
}

// made reports whether pc is in the code cache.
func (j *jvm) made(pc mem.Addr) bool { return j.heapOf(pc) != nil }

// interprets reports whether pc is in the interpreter.
func (j *jvm) interprets(pc mem.Addr) bool { return pc >= j.begin && pc < j.end }

// codelet is the piece of the interpreter that pc is in, nil if it is in none.
func (j *jvm) codelet(pc mem.Addr) *codecache.Codelet {
	i := sort.Search(len(j.codelets), func(i int) bool { return j.codelets[i].End > pc })
	if i == len(j.codelets) || pc < j.codelets[i].Start {
		return nil
	}
	return &j.codelets[i]
}

// stubs reports whether pc may be in assembly that describes no frames. Compiled code may be taken for it.
func (j *jvm) stubs(pc mem.Addr) bool { return j.heapOf(pc) != nil && !j.interprets(pc) }

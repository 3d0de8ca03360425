package hotspot

import (
	"bytes"
	"errors"
	"sync/atomic"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/hotspot/codecache"
	"github.com/fpstack/fpstack/vm/hotspot/metadata"
	"github.com/fpstack/fpstack/vm/view"
)

// known remembers where the blob begins that an address in the code cache is in, for all threads that copy, and forgets
// some. It is a hint: who uses it looks whether that blob is there.
type known [1 << knownBits]atomic.Uint64

const knownBits = 13

// offset is where a is in the code cache, which is at most 4 GB.
func (j *jvm) offset(a mem.Addr) uint64 { return uint64(a-j.low) & 0xffffffff }

func (l *known) slot(pc uint64) *atomic.Uint64 {
	const spread = 0x9e3779b97f4a7c15
	return &l[pc*spread>>(64-knownBits)]
}

// start is where the blob begins that pc was in, 0 if that is not known.
func (l *known) start(j *jvm, pc mem.Addr) mem.Addr {
	at := j.offset(pc)
	if w := l.slot(at).Load(); w>>32 == at && w&0xffffffff != 0 {
		return j.low + mem.Addr(w&0xffffffff)
	}
	return 0
}

// nowhere is where the blob begins of a place that is in none.
func (j *jvm) nowhere() mem.Addr { return j.low + 1 }

func (l *known) add(j *jvm, pc, start mem.Addr) {
	at := j.offset(pc)
	l.slot(at).Store(at<<32 | j.offset(start))
}

// blobAt is the blob that pc is in, as v shows it.
func (r *Runtime) blobAt(v *view.View, j *jvm, pc mem.Addr) (*codecache.Blob, error) {
	h := j.heapOf(pc)
	if h == nil {
		if h = j.heapOf(pc - 1); h == nil {
			return nil, codecache.ErrNoBlob
		}
		pc--
	}
	for _, near := range []mem.Addr{pc, pc - 1} { // of return addresses Copy looks up the call
		if start := r.known.start(j, near); start != 0 && start != j.nowhere() {
			if b, err := r.blob(v, j, start); err == nil && pc >= b.Begin && pc < b.End {
				return b, nil
			}
		}
	}
	start, err := j.code.Blob(v, h, pc)
	if err != nil && !errors.Is(err, codecache.ErrNoBlob) && pc > h.Low { // a segment further than what Copy looked up
		start, err = j.code.Blob(v, h, pc-1)
	}
	if err != nil {
		return nil, err
	}
	b, err := r.blob(v, j, start)
	if err != nil {
		return nil, err
	}
	if pc < b.Begin || pc > b.End {
		return nil, codecache.ErrNoBlob
	}
	r.known.add(j, pc, start)
	if r.known.start(j, pc-1) == j.nowhere() { // code has been made there since
		r.known.add(j, pc-1, start)
	}
	return b, nil
}

// blob is the blob that begins at start.
func (r *Runtime) blob(v *view.View, j *jvm, start mem.Addr) (*codecache.Blob, error) {
	head, ok := v.Bytes(start, j.code.HeadSize)
	if !ok {
		return nil, v.Fault()
	}
	if had, ok := r.blobs.Get(start); ok && bytes.Equal(had.head, head) {
		return had.Blob, nil
	}
	b, err := j.code.Parse(start, head, r.text)
	if err != nil {
		return nil, err
	}
	r.blobs.Keep(start, parsed{bytes.Clone(head), b}, blobSize+len(head))
	return b, nil
}

// parsed is a blob with what it was made of.
type parsed struct {
	head []byte
	*codecache.Blob
}

// code is code as the process has it now, for a walk that is going on.
func (r *Runtime) code() *view.View {
	v := view.Lasting(&r.read, r.budget)
	return &v
}

// once is memory of which each piece is read once until it is told to forget.
type once struct {
	from mem.Reader
	had  map[piece][]byte // nil: nothing is kept
}

type piece struct {
	at mem.Addr
	n  int
}

// maxPieces bounds the pieces that are kept.
const maxPieces = 4 << 10

// ReadMem implements [mem.Reader].
func (o *once) ReadMem(b []byte, at mem.Addr) (int, error) {
	if had, ok := o.had[piece{at, len(b)}]; ok {
		return copy(b, had), nil
	}
	n, err := o.from.ReadMem(b, at)
	if err == nil && o.had != nil && len(o.had) < maxPieces && n <= saveArea {
		o.had[piece{at, n}] = bytes.Clone(b)
	}
	return n, err
}

// maxText bounds the name of a blob, bytes.
const maxText = 256

// text is a constant of the JVM.
func (r *Runtime) text(at mem.Addr) (string, error) {
	if s, ok := r.texts.Get(at); ok {
		return s, nil
	}
	s, whole, err := r.lasting().Text(at, maxText)
	if err != nil {
		return "", err
	}
	if !whole || s == "" {
		return "", codecache.ErrNoBlob
	}
	r.texts.Keep(at, s, len(s))
	return s, nil
}

// methodAt is the method at an address, read of the process as it is now.
func (r *Runtime) methodAt(j *jvm, at mem.Addr) (*metadata.Method, error) {
	return r.method(r.lasting(), j, at)
}

// method is the method at an address, as v shows it.
func (r *Runtime) method(v *view.View, j *jvm, at mem.Addr) (*metadata.Method, error) {
	key, err := j.meta.Identify(v, at)
	if err != nil {
		return nil, err
	}
	if m, ok := r.methods.Get(key); ok {
		return m, nil
	}
	m, err := j.meta.Method(v, at)
	if err != nil {
		return nil, err
	}
	r.methods.Keep(m.Key, m, m.Size())
	return m, nil
}

// hasBytecode reports whether bcp is in the bytecodes of the method at an address; a native one has none, and is where
// they would begin.
func (r *Runtime) hasBytecode(j *jvm, method, bcp mem.Addr) bool {
	if bcp == 0 {
		return false
	}
	m, err := r.methodAt(j, method)
	return err == nil && bcp >= m.Code.Start && (bcp < m.Code.End || m.Native() && bcp == m.Code.End)
}

package coreclr

import (
	"fmt"
	"sort"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
	"github.com/fpstack/fpstack/vm/coreclr/readytorun"
	"github.com/fpstack/fpstack/vm/coreclr/unwindcode"
)

// r2rImage is a module with precompiled code (ReadyToRun). It stays as long as its module.
// Source: docs/design/coreclr/botr/readytorun-format.md; class ReadyToRunInfo in src/coreclr/vm/readytoruninfo.h.
type r2rImage struct {
	base      mem.Addr
	functions mem.Addr // its RUNTIME_FUNCTIONs, ascending
	count     int
	// entries leads from where a method begins to its MethodDesc: a HashMap. 0: not known.
	entries mem.Addr
	thunks  section // of calls that load a method first; of no size if there are none
	err     error
	// header is read when it is first wanted; then it is there, or headerErr.
	header    *readytorun.Image
	headerErr error
}

const maxFunctions = 1 << 22

// imageOf returns what is known of the image that s is.
func (r *Runtime) imageOf(s *section) *r2rImage {
	if im := r.images[s.module]; im != nil && im.base == s.start {
		return im
	}
	if len(r.images) >= maxSections {
		clear(r.images)
	}
	im := r.readImage(s)
	r.images[s.module] = im
	return im
}

// readImage reads the image of the module of s. What offsets do not say is found by its shape.
func (r *Runtime) readImage(s *section) *r2rImage {
	l, im := r.layout, &r2rImage{base: s.start}
	if l.moduleR2R != unknown {
		f := fields{m: r.memory, at: s.module}
		im.read(r.memory, l, mem.Addr(f.word(l.moduleR2R)))
		if im.err = f.err; im.plausible(r.memory, s) {
			return im
		}
	}
	if found := r.imageByShape(s); found != nil {
		return found
	}
	im.err = fmt.Errorf("its table of functions was not found")
	return im
}

// read reads a ReadyToRunInfo.
func (im *r2rImage) read(m mem.Reader, l *layout, info mem.Addr) {
	f := fields{m: m, at: info}
	if l.r2rComposite != unknown {
		if whole := mem.Addr(f.word(l.r2rComposite)); whole != 0 && f.err == nil {
			f.at = whole
		}
	}
	im.functions, im.count = mem.Addr(f.word(l.r2rFunctions)), int(f.uint(l.r2rCount, 4))
	if thunks := mem.Addr(f.word(l.r2rThunks)); thunks != 0 && f.err == nil {
		d := fields{m: m, at: thunks}
		im.thunks.start = im.base + mem.Addr(d.uint(0, 4))
		im.thunks.end = im.thunks.start + mem.Addr(d.uint(4, 4))
	}
	if l.r2rEntries != unknown {
		im.entries = f.at + mem.Addr(l.r2rEntries)
	}
	im.err = f.err
}

// plausible reports whether the functions of im lie in s and ascend at both ends.
func (im *r2rImage) plausible(m mem.Reader, s *section) bool {
	if im.err != nil || im.count <= 0 || im.count > maxFunctions ||
		im.functions < s.start || im.functions >= s.end {
		return false
	}
	first, err := im.function(m, 0)
	last, err2 := im.function(m, im.count-1)
	size := uint64(s.end - s.start)
	return err == nil && err2 == nil && first.Begin < first.End && first.Begin <= last.Begin &&
		uint64(last.End) <= size && uint64(last.Info) < size
}

// function reads number i.
func (im *r2rImage) function(m mem.Reader, i int) (unwindcode.Function, error) {
	var b [unwindcode.FunctionSize]byte
	if _, err := m.ReadMem(b[:], im.functions+mem.Addr(i)*unwindcode.FunctionSize); err != nil {
		return unwindcode.Function{}, err
	}
	return unwindcode.ParseFunction(b[:]), nil
}

// index finds the function that holds the offset rel, the last that begins at or before it.
func (im *r2rImage) index(m mem.Reader, rel uint64) (int, error) {
	var failed error
	i := sort.Search(im.count, func(i int) bool {
		f, err := im.function(m, i)
		if err != nil && failed == nil {
			failed = err
		}
		return uint64(f.Begin) > rel
	}) - 1
	if failed != nil {
		return 0, failed
	}
	if i < 0 {
		return 0, errNoInfo
	}
	return i, nil
}

// maxFunclets bounds how many functions before one its method may begin.
const maxFunclets = 1 << 10

// precompiled finds the method in an image.
func (r *Runtime) precompiled(m mem.Reader, s *section, pc mem.Addr) (*code, error) {
	im := r.imageOf(s)
	if im.err != nil {
		return nil, im.err
	}
	if pc >= im.thunks.start && pc < im.thunks.end {
		return &code{section: s, kind: StubCode}, nil
	}
	i, err := im.index(r.memory, uint64(pc-s.start))
	if err != nil {
		return nil, err
	}
	c := &code{section: s, kind: R2RCode, base: s.start}
	if c.function, err = im.function(r.memory, i); err != nil {
		return nil, err
	}
	if pc-s.start >= mem.Addr(c.function.End) {
		return nil, errNoInfo
	}
	c.start = s.start + mem.Addr(c.function.Begin)
	if im.entries == 0 {
		return c, nil
	}
	for back := range min(i+1, maxFunclets) {
		f, err := im.function(r.memory, i-back)
		if err != nil {
			return c, nil
		}
		at := s.start + mem.Addr(f.Begin)
		if desc, ok := r.lookup(im.entries, uint64(at)); ok {
			c.start, c.desc, c.entry = at, mem.Addr(desc), i-back
			d := fields{m: r.memory, at: c.desc}
			c.class = Class(d.uint(r.layout.methodFlags, 2) & 7)
			return c, nil
		}
	}
	return c, nil
}

// Bounds and form of a HashMap. Source: src/coreclr/vm/hash.h; docs/design/datacontracts, HashMapLookup.
const (
	hashBuckets = 16
	bucketSize  = 64
	bucketSlots = 4
	maxBuckets  = 1 << 24
	maxProbes   = 64      // chains of a map that grows in time are a few long
	collision   = 1 << 63 // in the first value of a bucket: the search goes on
)

// lookup finds the value of key in the HashMap at a.
func (r *Runtime) lookup(a mem.Addr, key uint64) (uint64, bool) {
	f := fields{m: r.memory, at: a}
	buckets := mem.Addr(f.word(hashBuckets))
	f.at = buckets
	size := uint32(f.uint(0, 4))
	if f.err != nil || size < 2 || size > maxBuckets {
		return 0, false
	}
	seed := uint32(key >> 2)
	step := 1 + uint32((key>>5)+1)%(size-1)
	for range min(size, maxProbes) {
		var b [bucketSize]byte
		if _, err := r.memory.ReadMem(b[:], buckets+bucketSize+mem.Addr(seed%size)*bucketSize); err != nil {
			return 0, false
		}
		for i := range bucketSlots {
			if order.Uint64(b[8*i:]) == key {
				return (order.Uint64(b[32+8*i:]) & r.layout.hashMask) << 1, true
			}
		}
		if order.Uint64(b[32:])&collision == 0 {
			return 0, false
		}
		seed += step
	}
	return 0, false
}

// imageByShape finds a ReadyToRunInfo where offsets moved: the header of the image says where its functions are and how
// many, and the module leads to a structure that has both.
func (r *Runtime) imageByShape(s *section) *r2rImage {
	header, err := r.headerAt(s.start)
	if err != nil {
		return nil
	}
	part, _ := header.Section(readytorun.RuntimeFunctions)
	at, size := s.start+mem.Addr(part.RVA), part.Size/unwindcode.FunctionSize
	const moduleBytes, infoBytes = 0x600, 0x300
	module := make([]byte, moduleBytes)
	n, _ := r.memory.ReadMem(module, s.module)
	for i := 0; i+wordSize <= n; i += wordSize {
		p := mem.Addr(order.Uint64(module[i:]))
		info := make([]byte, infoBytes)
		if p == 0 || p%wordSize != 0 {
			continue
		}
		had, _ := r.memory.ReadMem(info, p)
		for k := 0; k+2*wordSize <= had; k += wordSize {
			if mem.Addr(order.Uint64(info[k:])) != at || order.Uint32(info[k+wordSize:]) != size {
				continue
			}
			im := &r2rImage{base: s.start, functions: at, count: int(size)}
			if im.plausible(r.memory, s) {
				im.entries = r.entriesByShape(im, p, info[:had])
				return im
			}
		}
	}
	return nil
}

// entriesByShape finds the HashMap in the ReadyToRunInfo at p that knows where methods of im begin; 0 if none does.
func (r *Runtime) entriesByShape(im *r2rImage, p mem.Addr, info []byte) mem.Addr {
	const enough, samples = 3, 512
	for k := 0; k+wordSize <= len(info); k += wordSize {
		buckets := order.Uint64(info[k:])
		if buckets == 0 || buckets%wordSize != 0 || k < hashBuckets {
			continue
		}
		at, hits := p+mem.Addr(k-hashBuckets), 0
		f := fields{m: r.memory, at: mem.Addr(buckets)}
		if size := f.uint(0, 4); f.err != nil || size < 2 || size > maxBuckets || f.uint(4, 4) != 0 {
			continue
		}
		for i := 0; i < im.count && hits < enough; i += max(1, im.count/samples) {
			x, err := im.function(r.memory, i)
			if err != nil {
				break
			}
			if _, ok := r.lookup(at, uint64(im.base)+uint64(x.Begin)); ok {
				hits++
			}
		}
		if hits >= enough {
			return at
		}
	}
	return 0
}

// headerAt reads the header of precompiled code of the image at base.
func (r *Runtime) headerAt(base mem.Addr) (*readytorun.Image, error) {
	im, err := metadata.OpenImage(r.memory, base, r.budget)
	if err != nil {
		return nil, err
	}
	at, ok, err := im.Native()
	if err == nil && !ok {
		err = readytorun.ErrFormat
	}
	if err != nil {
		return nil, err
	}
	return readytorun.Open(r.memory, base, at)
}

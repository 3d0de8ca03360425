package coreclr

import (
	"errors"
	"fmt"
	"sort"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
	"github.com/fpstack/fpstack/vm/coreclr/readytorun"
	"github.com/fpstack/fpstack/vm/coreclr/unwindcode"
	"github.com/fpstack/fpstack/vm/view"
)

// r2rImage is a module with precompiled code (ReadyToRun). It stays as long as its module.
// Source: docs/design/coreclr/botr/readytorun-format.md; class ReadyToRunInfo in src/coreclr/vm/readytoruninfo.h.
type r2rImage struct {
	base      mem.Addr
	functions mem.Addr // its RUNTIME_FUNCTIONs, ascending
	count     int
	// entries leads from where a method begins to its MethodDesc: a HashMap. 0: not known.
	entries mem.Addr
	port    *port
	thunks  section // of calls that load a method first; of no size if there are none
	header  *readytorun.Image
	err     error // why all this is not known
	retry
}

// imageKey tells an image from another one, also at the same place: a section is numbered.
type imageKey struct{ section uint64 }

const (
	maxFunctions = 1 << 22
	imageSize    = 4 << 10 // bytes
)

// imageOf returns what is known of the image that s is.
func (r *Runtime) imageOf(s *section) *r2rImage {
	im, ok := r.images.Get(imageKey{s.id})
	if ok && (im.err == nil || !im.due(r.walks)) {
		return im
	}
	if !ok {
		im = &r2rImage{}
	}
	if r.readImage(im, s); im.err != nil {
		im.failed(r.walks)
	}
	r.images.Keep(imageKey{s.id}, im, imageSize)
	return im
}

// readImage reads the image of the module of s. What offsets do not say is found by its shape.
func (r *Runtime) readImage(im *r2rImage, s *section) {
	v := &r.lasting
	*im = r2rImage{base: s.start, port: r.o.port, retry: im.retry}
	f := v.Fields(s.module)
	if r.layout.moduleR2R != unknown {
		if info := f.Addr(r.layout.moduleR2R); f.Err == nil {
			f.Err = im.read(v, r.layout, info)
		}
		if f.Err == nil && im.plausible(v, s) {
			return
		}
	}
	if im.err = r.imageByShape(im, s); im.err != nil && f.Err != nil {
		im.err = f.Err
	}
}

// read reads a ReadyToRunInfo.
func (im *r2rImage) read(v *view.View, l *layout, info mem.Addr) error {
	f := v.Fields(info)
	if whole := f.Addr(l.r2rComposite); whole != 0 && f.Err == nil { // of all assemblies that are one image, or itself
		f.At = whole
	}
	header := f.Addr(l.r2rHeader)
	im.functions, im.count = f.Addr(l.r2rFunctions), int(f.Uint(l.r2rCount, 4))
	im.entries = f.At + mem.Addr(l.r2rEntries)
	if thunks := f.Addr(l.r2rThunks); thunks != 0 && f.Err == nil {
		d := v.Fields(thunks)
		im.thunks.start = im.base + mem.Addr(d.Uint(0, 4))
		im.thunks.end = im.thunks.start + mem.Addr(d.Uint(4, 4))
		f.Err = d.Err
	}
	if f.Err != nil {
		return f.Err
	}
	var err error
	im.header, err = readytorun.Open(v, im.base, header)
	return err
}

// plausible reports whether the functions of im lie in s and ascend at both ends.
func (im *r2rImage) plausible(v *view.View, s *section) bool {
	if im.count <= 0 || im.count > maxFunctions || im.functions < s.start || im.functions >= s.end {
		return false
	}
	first, err := im.whole(v, 0)
	last, err2 := im.whole(v, im.count-1)
	size := uint64(s.end - s.start)
	return err == nil && err2 == nil && first.Begin < first.End && first.Begin <= last.Begin &&
		uint64(last.End) <= size && uint64(last.Info) < size
}

// function reads number i, whose end may not be known by that.
func (im *r2rImage) function(v *view.View, i int) (unwindcode.Function, error) {
	size := im.port.functionSize
	b, ok := v.Bytes(im.functions+mem.Addr(i*size), size)
	if !ok {
		return unwindcode.Function{}, v.Fault()
	}
	return im.port.function(b), nil
}

// whole reads number i with its end.
func (im *r2rImage) whole(v *view.View, i int) (unwindcode.Function, error) {
	f, err := im.function(v, i)
	if err == nil {
		err = im.port.end(v, im.base, &f)
	}
	return f, err
}

// index finds the function that holds the offset rel, the last that begins at or before it.
func (im *r2rImage) index(v *view.View, rel uint64) (int, error) {
	var failed error
	i := sort.Search(im.count, func(i int) bool {
		f, err := im.function(v, i)
		failed = errors.Join(failed, err)
		return failed != nil || uint64(f.Begin) > rel
	}) - 1
	if failed == nil && i < 0 {
		failed = errNoInfo
	}
	return i, failed
}

// maxFunclets bounds how many functions before one its method may begin.
const maxFunclets = 1 << 10

// precompiled finds the method in an image. What is read for it stays: collectible assemblies have no such code.
func (r *Runtime) precompiled(s *section, pc mem.Addr) (*code, error) {
	im, v := r.imageOf(s), &r.lasting
	if im.err != nil {
		return nil, im.err
	}
	if pc >= im.thunks.start && pc < im.thunks.end {
		return &code{section: *s, kind: StubCode}, nil
	}
	i, err := im.index(v, uint64(pc-s.start))
	if err != nil {
		return nil, err
	}
	c := &code{section: *s, kind: R2RCode, base: s.start, entry: i}
	if c.function, err = im.whole(v, i); err != nil {
		return nil, err
	}
	if pc-s.start >= mem.Addr(c.function.End) {
		return nil, errNoInfo
	}
	c.start = s.start + mem.Addr(c.function.Begin)
	c.unnamed = r.findEntry(v, im, c)
	return c, nil
}

// findEntry finds the method that the function c.entry of im is a part of: itself, a funclet or a cold part, which may
// have funclets too. An error says that it is not known which method that is; none is there where the runtime knows
// none.
func (r *Runtime) findEntry(v *view.View, im *r2rImage, c *code) error {
	first := c.entry
	hot, cold, err := im.header.Hot(first)
	if err != nil {
		return err
	}
	if cold {
		first = hot
	}
	for i := first; i >= 0 && i > first-maxFunclets; i-- {
		f, err := im.function(v, i)
		if err != nil {
			return err
		}
		at := im.base + mem.Addr(f.Begin)
		desc, found, err := mapped(v, im.entries, r.layout.hashMask, uint64(at))
		if err != nil {
			return fmt.Errorf("search for its method: %w", err)
		}
		if !found {
			continue
		}
		class, err := r.classOf(v, mem.Addr(desc))
		if err != nil {
			return fmt.Errorf("read its method: %w", err)
		}
		c.start, c.desc, c.entry, c.class, c.cold = at, mem.Addr(desc), i, class, cold
		if cold {
			if err := im.port.end(v, im.base, &f); err != nil {
				return err
			}
			c.shift = mem.Addr(f.End - f.Begin)
		}
		return nil
	}
	return nil
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

var (
	errNoMap = errors.New("the runtime's map of its methods was not found")
	errMap   = errors.New("the runtime's map of its methods contradicts itself")
)

// mapped finds the value of key in the HashMap at a. It is not found where the map says so; an error says that the map
// could not be read as far.
func mapped(v *view.View, a mem.Addr, mask, key uint64) (value uint64, found bool, err error) {
	if a == 0 {
		return 0, false, errNoMap
	}
	f := v.Fields(a)
	f.At = f.Addr(hashBuckets)
	buckets, size := f.At, uint32(f.Uint(0, 4))
	switch {
	case f.Err != nil:
		return 0, false, f.Err
	case size < 2 || size > maxBuckets:
		return 0, false, errMap
	}
	seed := uint32(key >> 2)
	step := 1 + uint32((key>>5)+1)%(size-1)
	for range min(size, maxProbes) {
		b, ok := v.Bytes(buckets+bucketSize+mem.Addr(seed%size)*bucketSize, bucketSize)
		if !ok {
			return 0, false, v.Fault()
		}
		for i := range bucketSlots {
			if order.Uint64(b[8*i:]) == key {
				return (order.Uint64(b[32+8*i:]) & mask) << 1, true, nil
			}
		}
		if order.Uint64(b[32:])&collision == 0 {
			return 0, false, nil
		}
		seed += step
	}
	if size > maxProbes {
		err = errMap
	}
	return 0, false, err
}

// imageByShape finds a ReadyToRunInfo where offsets moved: the header of the image says where its functions are and how
// many, and the module leads to a structure that has both.
func (r *Runtime) imageByShape(im *r2rImage, s *section) error {
	v := &r.lasting
	var err error
	if im.header, err = headerAt(v, s.start); err != nil {
		return err
	}
	part, _ := im.header.Section(readytorun.RuntimeFunctions)
	im.functions, im.count, im.entries = s.start+mem.Addr(part.RVA), int(part.Size)/im.port.functionSize, 0
	if !im.plausible(v, s) {
		return errors.New("its table of functions was not found")
	}
	const moduleBytes, infoBytes = 0x600, 0x200
	info := make([]byte, infoBytes)
	for at := mem.Addr(0); at < moduleBytes; at += wordSize {
		p, err := v.Word(s.module + at)
		if err != nil {
			return fmt.Errorf("read module %#x: %w", uint64(s.module), err)
		}
		if p == 0 || p%wordSize != 0 {
			continue
		}
		if _, err := v.ReadMem(info, mem.Addr(p)); err != nil {
			continue
		}
		for k := 0; k+2*wordSize <= len(info); k += wordSize {
			if mem.Addr(order.Uint64(info[k:])) == im.functions && order.Uint32(info[k+wordSize:]) == uint32(im.count) {
				if im.entries = r.entriesByShape(im, mem.Addr(p), info); im.entries != 0 {
					return nil
				}
			}
		}
	}
	return v.Refused() // without the map methods are not named, and say so
}

// entriesByShape finds the HashMap in the ReadyToRunInfo at p that knows where methods of im begin; 0 if none does.
func (r *Runtime) entriesByShape(im *r2rImage, p mem.Addr, info []byte) mem.Addr {
	const enough, samples = 3, 512
	v := &r.lasting
	for k := hashBuckets; k+wordSize <= len(info); k += wordSize {
		buckets := order.Uint64(info[k:])
		if buckets == 0 || buckets%wordSize != 0 {
			continue
		}
		at, hits := p+mem.Addr(k-hashBuckets), 0
		f := v.Fields(mem.Addr(buckets))
		if size := f.Uint(0, 4); size < 2 || size > maxBuckets || f.Uint(4, 4) != 0 || f.Err != nil {
			continue
		}
		for i := 0; i < im.count && hits < enough; i += max(1, im.count/samples) {
			x, err := im.function(v, i)
			if err != nil {
				break
			}
			_, found, err := mapped(v, at, r.layout.hashMask, uint64(im.base)+uint64(x.Begin))
			if err != nil {
				break
			}
			if found {
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
func headerAt(v *view.View, base mem.Addr) (*readytorun.Image, error) {
	im, err := metadata.OpenImage(v, base)
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
	return readytorun.Open(v, base, at)
}

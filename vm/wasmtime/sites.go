package wasmtime

import (
	"fmt"
	"strconv"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// sites are the places in functions that were named. Modules that are loaded again and again have the same ones.
type sites struct {
	byPC   map[spot]unwind.Site
	byText map[string]unwind.Site
	frames [][]profile.Frame // by Site
}

// spot is a PC in an image.
type spot struct {
	generation  uint64
	pc          mem.Addr
	interrupted bool
}

// Bounds of sites. Behind them places are not named.
const (
	maxSpots = 1 << 16 // then all are looked up again
	maxTexts = 1 << 18
)

func newSites() sites {
	return sites{byPC: map[spot]unwind.Site{}, byText: map[string]unwind.Site{}, frames: make([][]profile.Frame, 1)}
}

// Frames implements resolve.SiteNamer.
func (r *Runtime) Frames(site unwind.Site) []profile.Frame {
	if int(site) >= len(r.sites.frames) {
		return nil
	}
	return r.sites.frames[site]
}

// add returns the Site of frames, 0 if there are too many.
func (s *sites) add(frames []profile.Frame) unwind.Site {
	key := fmt.Sprint(frames)
	site, ok := s.byText[key]
	if !ok && len(s.byText) < maxTexts {
		site = unwind.Site(len(s.frames))
		s.frames = append(s.frames, frames)
		s.byText[key] = site
	}
	return site
}

// copied is what was copied of a thread.
type copied []mem.Range

// Bytes returns n copied bytes at addr.
func (c copied) Bytes(addr mem.Addr, n int) ([]byte, bool) {
	for i := range c {
		if b, ok := c[i].Bytes(addr, n); ok {
			return b, true
		}
	}
	return nil, false
}

// Notes of frames that are not named, or whose name is not sure.
const (
	noteNone   = "not named: wasmtime: no function of its module is here"
	noteOther  = "not named: wasmtime: another module was loaded at this address meanwhile"
	noteMany   = "not named: wasmtime: too many places were named"
	noteUnseen = "named by its module as it was read later: it was not copied while the thread was stopped"
)

// Identify implements [unwind.Identifier].
func (r *Runtime) Identify(t *snapshot.Thread, s *unwind.Stack, _ mem.Reader) {
	k := r.known.Load()
	if len(k.images) == 0 {
		return
	}
	for i := range s.Frames {
		f := &s.Frames[i]
		if im := k.find(f.LookupPC()); im != nil && f.Runtime == nil {
			r.identify(t, f, im)
		}
	}
}

// identify sets the Site of f, which lies in im.
func (r *Runtime) identify(t *snapshot.Thread, f *unwind.Frame, im *image) {
	fn := im.functionAt(f.LookupPC())
	if fn == nil {
		note(f, noteNone)
		return
	}
	switch im.compare(copied(t.Copied), fn) {
	case otherImage:
		im.stale = true
		note(f, noteOther)
		return
	case otherName:
		im.stale = true
		name, _ := copied(t.Copied).Bytes(im.nameAt(fn.name), min(len(im.nameOf(fn)), maxCopyName))
		if len(name) == 0 || name[len(name)-1] != 0 {
			note(f, noteOther)
			return
		}
		l := parseLabel(string(trimEnd(name)))
		f.Site = r.sites.add([]profile.Frame{im.frame(f, fn, &l)})
	case notCopied:
		note(f, noteUnseen)
		f.Site = r.siteOf(im, fn, f)
	case same:
		f.Site = r.siteOf(im, fn, f)
	}
	if f.Site == 0 {
		note(f, noteMany)
		return
	}
	f.Runtime = r
}

func note(f *unwind.Frame, text string) {
	if f.Note != "" {
		text = f.Note + "; " + text
	}
	f.Note = text
}

// siteOf returns the Site of f, in the function fn of im.
func (r *Runtime) siteOf(im *image, fn *function, f *unwind.Frame) unwind.Site {
	at := spot{im.text.Generation, f.PC, f.Interrupted}
	if site, ok := r.sites.byPC[at]; ok {
		return site
	}
	l := im.labelOf(fn)
	frames := im.withLines(r.memory, f.LookupPC(), im.frame(f, fn, &l))
	site := r.sites.add(frames)
	if len(r.sites.byPC) >= maxSpots {
		clear(r.sites.byPC)
	}
	r.sites.byPC[at] = site
	return site
}

// labelOf is the label of fn, with the name as the module has it where that is known and where the symbol was made of
// it: a module may have been replaced while the image was read.
func (im *image) labelOf(fn *function) label {
	l := parseLabel(string(trimEnd(im.nameOf(fn))))
	if l.role != wasmFunction || l.module != 0 || !im.isModule() {
		return l
	}
	if full := im.fullNames.of(l.index); full != "" && (l.name == "" || madeOf(l.name, full)) {
		l.name = full
	}
	return l
}

// frame is the frame f in the function fn with the label l.
func (im *image) frame(f *unwind.Frame, fn *function, l *label) profile.Frame {
	out := profile.Frame{Kind: profile.Wasm, Func: l.shown(), Offset: uint64(f.PC - im.text.Start - mem.Addr(fn.start))}
	if out.Func != l.linkage {
		out.Linkage = l.linkage
	}
	if l.role != wasmFunction {
		out.Kind, out.Stub = profile.JIT, true
		return out
	}
	if out.File = im.path; out.File == "" {
		out.File = "wasm[" + strconv.Itoa(l.module) + "]"
	}
	at, _ := im.positions.at(uint32(f.LookupPC() - im.text.Start))
	out.ModuleAddr = uint64(at)
	return out
}

// trimEnd cuts the 0 behind a string.
func trimEnd(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == 0 {
		return b[:n-1]
	}
	return b
}

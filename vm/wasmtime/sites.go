package wasmtime

import (
	"hash/maphash"
	"strconv"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
)

// place is a place in code that was named: by what its module is, and not by where it lies, as modules are loaded again
// and again.
type place struct {
	content     uint64 // image.content
	name        uint64 // of the name that was copied, where that is not the image's; 0 else
	code        uint32 // from the beginning of the code
	interrupted bool
}

// Frames implements resolve.SiteNamer.
func (r *Runtime) Frames(site unwind.Site) []profile.Frame {
	frames, _ := r.sites.Get(site)
	return frames
}

// Notes of frames that are not named, or whose name is not sure.
const (
	noteNone   = "not named: wasmtime: no function of its module is here"
	noteOther  = "not named: wasmtime: another module was loaded at this address meanwhile"
	noteName   = "by its name alone: another module was loaded at this address meanwhile"
	noteMany   = "not named: wasmtime: no room for more names"
	noteUnseen = "named by its module as it was read later: it was not copied while the thread was stopped"
)

// Identify implements [unwind.Identifier].
func (r *Runtime) Identify(_ *snapshot.Thread, s *unwind.Stack, m mem.Reader) {
	k := r.known.Load()
	if len(k.images) == 0 {
		return
	}
	v := view.Over(m, nil, r.budget)
	for i := range s.Frames {
		f := &s.Frames[i]
		if im := k.find(f.LookupPC()); im != nil && f.Runtime == nil {
			r.identify(&v, f, im)
		}
	}
}

// identify sets the Site of f, which lies in im.
func (r *Runtime) identify(v *view.View, f *unwind.Frame, im *image) {
	fn := im.functionAt(f.LookupPC())
	if fn == nil {
		note(f, noteNone)
		return
	}
	at := place{content: im.content, code: uint32(f.PC - im.text.Start), interrupted: f.Interrupted}
	verdict, name := im.compare(v, fn)
	switch verdict {
	case otherImage:
		im.stale = true
		note(f, noteOther)
		return
	case otherName:
		im.stale = true
		if name = cString(name); len(name) == 0 || name[len(name)-1] != 0 {
			note(f, noteOther)
			return
		}
		note(f, noteName)
		at.name = maphash.Bytes(r.seed, name) | 1
	case notCopied:
		f.Unsure = true
		note(f, noteUnseen)
	}
	if f.Site = r.siteOf(at, im, fn, f, name); f.Site == 0 {
		f.Unsure = false
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

// siteOf returns the Site of f, in the function fn of im, or in another one of that name.
func (r *Runtime) siteOf(at place, im *image, fn *function, f *unwind.Frame, name []byte) unwind.Site {
	if site, ok := r.sites.Find(at); ok {
		return site
	}
	var frames []profile.Frame
	if at.name != 0 { // of the rest of its module nothing is known
		l := parseLabel(string(trimEnd(name)))
		frames = []profile.Frame{im.frame(f, fn, &l)}
		frames[0].ModuleAddr, frames[0].File = 0, l.file()
	} else {
		l := im.labelOf(fn)
		frames = im.withLines(r.live(), f.LookupPC(), im.frame(f, fn, &l))
	}
	size := 0
	for i := range frames {
		size += frameSize + len(frames[i].Func) + len(frames[i].Linkage) + len(frames[i].File)
	}
	return r.sites.Add(at, frames, size)
}

// frameSize is about what a profile.Frame takes besides its text.
const frameSize = 256

// labelOf is the label of fn, with the name as the module has it where that is known.
func (im *image) labelOf(fn *function) label {
	l := parseLabel(string(trimEnd(im.nameOf(fn))))
	if _, full, ok := im.fullOf(fn); ok {
		l.name = string(full)
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
		out.File = l.file()
	}
	at, _ := im.positions.at(uint32(f.LookupPC() - im.text.Start))
	out.ModuleAddr = uint64(at)
	return out
}

// file stands for the file of a module that was not loaded from one.
func (l *label) file() string { return "wasm[" + strconv.Itoa(l.module) + "]" }

// trimEnd cuts the 0 behind a string.
func trimEnd(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == 0 {
		return b[:n-1]
	}
	return b
}

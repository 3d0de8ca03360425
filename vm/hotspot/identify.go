package hotspot

import (
	"cmp"
	"errors"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/hotspot/codecache"
	"github.com/fpstack/fpstack/vm/hotspot/metadata"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/view"
)

// place is where a frame executes: bci in a method that is interpreted, or pc in the code of a blob.
type place struct {
	method      metadata.Key
	bci         int
	blob        codecache.ID
	pc          mem.Addr
	interrupted bool
}

// placed is what was found out of a place. A note says what is not exact of it.
type placed struct {
	site unwind.Site
	note string
}

// listed is a frame and the Site of those outside of it that share a frame of the stack with it, 0 for none.
type listed struct {
	profile.Frame
	rest unwind.Site
}

// The tiers, as a person sees them.
const (
	interpreterTier = "interpreter"
	c1Tier          = "C1"
	c2Tier          = "C2"
	nativeTier      = "native"
	fullLevel       = 4 // of C2. Source: compilerDefinitions.hpp, CompLevel_full_optimization
)

// Notes of frames.
const (
	lateNote   = "named by what was read later: it was not copied while the thread was stopped"
	buildNote  = "its frame is being built: what is there may be left over from another"
	heapNote   = "older frames of the virtual thread are in the heap, and not shown"
	callerNote = "callers may be missing: it is not known who called"
)

// stackSteps bounds what is read for one stack.
const stackSteps = 256 << 20

// Identify implements [unwind.Identifier].
func (r *Runtime) Identify(t *snapshot.Thread, s *unwind.Stack, m mem.Reader) {
	j := r.jvm.Load()
	if j == nil || t.Arch != r.port.arch {
		return
	}
	v := view.Over(m, r.live, r.budget)
	v.Within(stackSteps)
	building := false
	for i := range s.Frames {
		f := &s.Frames[i]
		if f.Runtime != nil || f.Site != 0 || !j.made(f.LookupPC()) {
			continue
		}
		a := r.activationOf(i, f, &v, j)
		if building = building && j.interprets(f.LookupPC()); building {
			f.Unsure, f.Note = true, joined(f.Note, buildNote)
		}
		p, unsure, err := r.identify(j, a, f, &v)
		if err != nil {
			f.Note = joined(f.Note, "not named: "+r.String()+": "+err.Error())
		}
		if p.site != 0 {
			f.Runtime, f.Site, f.Note = r, p.site, joined(f.Note, p.note)
			if all := r.list(p.site); len(all) > 0 {
				f.Stub = all[0].Stub
			}
		}
		if unsure && p.site != 0 {
			f.Unsure, f.Note = true, joined(f.Note, lateNote)
		}
		building = building || a.building
		switch {
		case a.heap && r.returnsToContinuation(s, i+1, &v, j):
			f.Gap, f.Note = true, joined(f.Note, heapNote)
		case a.heap, i+1 < len(s.Frames) && s.Frames[i+1].Origin != unwind.ByRuntime:
			f.Gap, f.Note = true, joined(f.Note, callerNote)
		}
	}
}

// joined puts a note behind another.
func joined(note, more string) string {
	if note == "" || more == "" {
		return note + more
	}
	return note + "; " + more
}

// activationOf is what Cross found of frame number i, or what its PC says where it did not come to it.
func (r *Runtime) activationOf(i int, f *unwind.Frame, v *view.View, j *jvm) *activation {
	if i < len(r.acts) && r.acts[i].pc == f.PC && r.acts[i].sp == f.SP {
		if a := &r.acts[i]; a.blob != nil || a.method != 0 || a.entry {
			return a
		}
	}
	a := &activation{pc: f.PC, sp: f.SP, at: f.PC}
	if !j.interprets(f.LookupPC()) {
		a.blob, _ = r.blobAt(v, j, f.PC)
	}
	return a
}

// returnsToContinuation reports whether frame number i is of the method that runs a virtual thread.
func (r *Runtime) returnsToContinuation(s *unwind.Stack, i int, v *view.View, j *jvm) bool {
	if i >= len(s.Frames) {
		return false
	}
	f := &s.Frames[i]
	p, _, err := r.identify(j, r.activationOf(i, f, v, j), f, v)
	if err != nil {
		return false
	}
	all := r.list(p.site)
	return len(all) > 0 && strings.HasPrefix(all[0].Func, "jdk.internal.vm.Continuation.")
}

var errNoState = errors.New("where its frame is is not known")

// identify finds what executes in f. unsure says that what it was found by may be another's by now.
func (r *Runtime) identify(j *jvm, a *activation, f *unwind.Frame, v *view.View) (p placed, unsure bool, err error) {
	v.TakeLate()
	switch {
	case a.pc == j.returns:
		p, err = r.stub("call_stub")
		return p, false, err
	case j.interprets(f.LookupPC()):
		return r.identifyInterpreted(j, a, f, v)
	case a.blob == nil:
		return p, false, codecache.ErrNoBlob
	case a.blob.Kind == codecache.Compiled, a.blob.Kind == codecache.Wrapper:
		return r.identifyCompiled(j, a, f, v)
	}
	p, err = r.stub(a.blob.Name)
	return p, false, err
}

// identifyInterpreted finds the method of a frame of the interpreter.
func (r *Runtime) identifyInterpreted(j *jvm, a *activation, f *unwind.Frame, v *view.View) (placed, bool, error) {
	if a.method == 0 {
		c := j.codelet(f.LookupPC())
		switch {
		case c != nil && a.entry:
			p, err := r.stub(c.Name)
			return p, false, err
		case c != nil && !f.Interrupted:
			p, err := r.stub(c.Name)
			return p, false, cmp.Or(err, errNoState)
		}
		return placed{}, false, errNoState
	}
	m, unsure, err := r.interpreted(v, j, a.method)
	if err != nil {
		return placed{}, false, err
	}
	bci := -1
	if a.bcp >= m.Code.Start && a.bcp < m.Code.End {
		bci = int(a.bcp - m.Code.Start)
	}
	key := place{method: m.Key, bci: bci}
	if p, ok := r.had(key); ok {
		return p, unsure, nil
	}
	tier := interpreterTier
	if m.Native() {
		tier = nativeTier
	}
	site, err := r.of([]profile.Frame{frameOf(m, bci, tier)})
	p := placed{site: site}
	if err == nil {
		r.places.Keep(key, p, placeSize)
	}
	return p, unsure, err
}

// met is the head of a method as it was copied in a stop, and stood when a frame was named.
type met struct{ at, constMethod mem.Addr }

// maxMet bounds the methods that are kept for one stop.
const maxMet = 1 << 12

// interpreted is the method at an address, as v shows it. unsure says that it may be another's by now: what its head
// leads to is read late, unless an earlier frame had the same head.
func (r *Runtime) interpreted(v *view.View, j *jvm, at mem.Addr) (m *metadata.Method, unsure bool, err error) {
	held, head := v.Held(at, j.meta.MethodHead()), met{at: at}
	if held {
		if head.constMethod, err = j.meta.ConstMethod(v, at); err != nil {
			return nil, false, err
		}
		if m, ok := r.met[head]; ok {
			return m, false, nil
		}
	}
	if m, err = r.method(v, j, at); err != nil {
		return nil, false, err
	}
	unsure = v.TakeLate() && (!held || !r.stands(j, m.Key))
	if held && !unsure && len(r.met) < maxMet {
		r.met[head] = m
	}
	return m, unsure, nil
}

// stands reports whether the method k, of which all but its head was read before, has that head now.
func (r *Runtime) stands(j *jvm, k metadata.Key) bool {
	now, err := j.meta.ConstMethod(r.lasting(), k.Method)
	return err == nil && now == k.ConstMethod
}

// had is what is kept of a place.
func (r *Runtime) had(key place) (placed, bool) {
	p, ok := r.places.Get(key)
	if ok {
		_, ok = r.named.Get(p.site)
	}
	return p, ok
}

// inexactNote is said of compiled code that was interrupted where nothing describes it.
const inexactNote = "line and inlined functions are those of the next call or loop end in its code"

// identifyCompiled finds the methods that code was made of, at the place where it executes.
func (r *Runtime) identifyCompiled(j *jvm, a *activation, f *unwind.Frame, v *view.View) (placed, bool, error) {
	b := a.blob
	held := v.Held(b.Start, j.code.HeadSize)
	key := place{blob: b.ID, pc: a.at, interrupted: f.Interrupted}
	if p, ok := r.had(key); ok {
		return p, !held && !r.same(j, b), nil
	}
	frames, note, err := r.methodsIn(j, a, f, v)
	if err != nil {
		return placed{}, false, err
	}
	unsure := v.TakeLate() && (!held || !r.same(j, b))
	site, err := r.of(frames)
	p := placed{site, note}
	if err == nil && !unsure {
		r.places.Keep(key, p, placeSize)
	}
	return p, unsure, err
}

// same reports whether b is what lies there now.
func (r *Runtime) same(j *jvm, b *codecache.Blob) bool {
	same, err := j.code.Same(r.lasting(), b)
	return err == nil && same
}

// methodsIn are the methods that the code of a executes, innermost first.
func (r *Runtime) methodsIn(j *jvm, a *activation, f *unwind.Frame, v *view.View) ([]profile.Frame, string, error) {
	b := a.blob
	tier := c2Tier
	switch {
	case b.Kind == codecache.Wrapper:
		tier = nativeTier
	case b.Code.Level != fullLevel:
		tier = c1Tier
	}
	whole := func(bci int) ([]profile.Frame, error) {
		m, err := r.method(v, j, b.Method)
		if err != nil {
			return nil, err
		}
		return []profile.Frame{frameOf(m, bci, tier)}, nil
	}
	if b.Kind == codecache.Wrapper {
		frames, err := whole(-1)
		return frames, "", err
	}
	scopes, exact, err := j.code.Scopes(v, b, a.at, f.Interrupted, j.meta.Coding)
	if errors.Is(err, codecache.ErrNoDebug) {
		frames, err := whole(-1)
		return frames, "the line is not known, nor what is inlined", err
	}
	if err != nil {
		return nil, "", err
	}
	frames := make([]profile.Frame, len(scopes))
	for i, c := range scopes {
		m, err := r.method(v, j, c.Method)
		if err != nil {
			return nil, "", err
		}
		frames[i] = frameOf(m, c.BCI, tier)
		frames[i].Inlined, frames[i].Near = i < len(scopes)-1, !exact
	}
	if !exact {
		return frames, inexactNote, nil
	}
	return frames, "", nil
}

// stub is the Site of code of the JVM's own: it is shown to those alone who ask for it.
func (r *Runtime) stub(name string) (placed, error) {
	site, err := r.of([]profile.Frame{{Func: name, Kind: profile.Java, Stub: true}})
	return placed{site: site}, err
}

// of returns the Site that stands for frames, innermost first.
func (r *Runtime) of(frames []profile.Frame) (n unwind.Site, err error) {
	for i := len(frames) - 1; i >= 0; i-- {
		l := listed{frames[i], n}
		at, ok := r.named.Find(l)
		if !ok {
			if at = r.named.Add(l, l, namedSize+len(l.Func)+len(l.File)); at == 0 {
				return 0, sites.ErrNoRoom
			}
		}
		n = at
	}
	return n, nil
}

// list are the frames of a Site, innermost first; nil if they are not known, or one was forgotten.
func (r *Runtime) list(n unwind.Site) []profile.Frame {
	var out []profile.Frame
	for n != 0 {
		l, ok := r.named.Get(n)
		if !ok {
			return nil
		}
		out, n = append(out, l.Frame), l.rest // ends: rest was numbered before
	}
	return out
}

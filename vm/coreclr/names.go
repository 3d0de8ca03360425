package coreclr

import (
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/unwind"
)

// Frames implements resolve.SiteNamer.
func (r *Runtime) Frames(site unwind.Site) []profile.Frame {
	e, ok := r.executed.Get(site)
	if !ok {
		return nil
	}
	if e.shown != nil {
		return []profile.Frame{*e.shown}
	}
	f, whole := r.names.frame(e.Method)
	f.Offset = e.offset
	if whole {
		e.shown = &f
		r.executed.Set(site, e, methodSize+len(f.Func)+len(f.Linkage)+len(f.Note))
	}
	return []profile.Frame{f}
}

package coreclr

import (
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/unwind"
)

// Frames implements resolve.SiteNamer.
func (r *Runtime) Frames(site unwind.Site) []profile.Frame {
	if site == 0 || int(site) >= len(r.sites.all) {
		return nil
	}
	e := &r.sites.all[site]
	if e.shown == nil || e.forgotten != r.names.forgotten {
		f := r.names.frame(e.Method)
		f.Offset = e.offset
		e.shown, e.forgotten = &f, r.names.forgotten
	}
	return []profile.Frame{*e.shown}
}

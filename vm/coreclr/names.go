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
	e := r.sites.all[site]
	f := r.names.frame(e.Method)
	f.Offset = e.offset
	return []profile.Frame{f}
}

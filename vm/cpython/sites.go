package cpython

import (
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/unwind"
)

// spot is what a frame of Python is shown as.
type spot struct {
	function, file string
	line, column   int
}

// sites are the Sites of one interpreter.
type sites struct {
	bySpot map[spot]unwind.Site
	all    []spot // by Site; 0 is none
	bytes  int    // of names in all, also of those that several share
}

// Bounds of the Sites of a process, and of their names.
const (
	maxSites     = 1 << 18
	maxSiteBytes = 128 << 20
)

func (s *sites) reset() { *s = sites{bySpot: map[spot]unwind.Site{}, all: make([]spot, 1)} }

// of returns the Site of p, 0 if there are too many.
func (s *sites) of(p spot) unwind.Site {
	n, ok := s.bySpot[p]
	if size := len(p.function) + len(p.file); !ok && len(s.all) < maxSites && s.bytes+size <= maxSiteBytes {
		s.bytes += size
		n = unwind.Site(len(s.all))
		s.all, s.bySpot[p] = append(s.all, p), n
	}
	return n
}

func (s *sites) frames(n unwind.Site) []profile.Frame {
	if n == 0 || int64(n) >= int64(len(s.all)) {
		return nil
	}
	p := &s.all[n]
	return []profile.Frame{{Kind: profile.Python, Func: p.function, File: p.file, Line: p.line,
		Column: p.column}}
}

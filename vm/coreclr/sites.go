package coreclr

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/unwind"
)

// place is a PC in code.
type place struct {
	generation  uint64
	pc          mem.Addr
	interrupted bool
}

// sites are the places that were met.
type sites struct {
	byPlace  map[place]unwind.Site
	byMethod map[string]unwind.Site
	all      []executed // by Site; 0 is none
}

// executed is a method and where in it: offset is that of the PC itself, bytes from its beginning.
type executed struct {
	*Method
	offset uint64
	// shown is what it was called when it was named first; it is valid until texts are forgotten another time.
	shown     *profile.Frame
	forgotten int
}

const maxSites = 1 << 18

func (s *sites) reset() {
	*s = sites{byPlace: map[place]unwind.Site{}, byMethod: map[string]unwind.Site{}, all: make([]executed, 1)}
}

// add returns the Site of a place in m, 0 if there are too many.
func (s *sites) add(m *Method, offset mem.Addr) unwind.Site {
	key := fmt.Sprintf("%x %x %d %x %s", m.Desc, m.Start, m.Code, offset, m.Name)
	if n, ok := s.byMethod[key]; ok {
		return n
	}
	if len(s.all) >= maxSites {
		return 0
	}
	n := unwind.Site(len(s.all))
	s.all, s.byMethod[key] = append(s.all, executed{Method: m, offset: uint64(offset)}), n
	return n
}

func (s *sites) keep(p place, n unwind.Site) {
	if len(s.byPlace) >= maxPlaces {
		clear(s.byPlace)
	}
	s.byPlace[p] = n
}

package profile

import (
	"strconv"
	"strings"
)

// Name returns what frame f is called where one name has to do: its function, else the last
// element of its module's path and its address as linked there, as "libx.so.1+0x123", else its
// address, else "?". Frames of one Name are one function to every table and picture.
func (p *Profile) Name(f FrameID) string {
	fr := &p.Frames[f]
	switch {
	case fr.Func != "":
		return fr.Func
	case fr.Module >= 0 && fr.Module < len(p.Modules):
		return p.Modules[fr.Module].Name() + "+0x" + strconv.FormatUint(fr.ModuleAddr, 16)
	case fr.Addr != 0:
		return "0x" + strconv.FormatUint(fr.Addr, 16)
	}
	return "?"
}

// Name returns the last element of m's path, "?" if there is none.
func (m *Module) Name() string {
	name := m.Path[strings.LastIndexByte(m.Path, '/')+1:]
	if name == "" {
		return "?"
	}
	return name
}

// Names numbers the functions of p, frames of one [Profile.Name]: of[f] is the number of frame
// f's, first[i] the first frame of function i.
func (p *Profile) Names() (of []uint32, first []FrameID) {
	ids := make(map[string]uint32, len(p.Frames))
	of = make([]uint32, len(p.Frames))
	for f := range p.Frames {
		name := p.Name(FrameID(f))
		id, ok := ids[name]
		if !ok {
			id = uint32(len(first))
			ids[name] = id
			first = append(first, FrameID(f))
		}
		of[f] = id
	}
	return of, first
}

package symbol

import (
	"fmt"

	"github.com/fpstack/fpstack/maps/module"
)

// debugFrame is the .debug_frame of one module, read once.
type debugFrame struct {
	tried bool
	data  []byte
	err   error
}

// DebugFrame returns the contents of the module's .debug_frame, inflated if it is compressed there; nil if it
// has none. The Resolver owns them; they may be a part of the mapped file.
//
// What is inflated counts towards what all modules together may take by default.
func (r *Resolver) DebugFrame() ([]byte, error) {
	f := &r.unwind
	if f.tried || r.m.Err != nil {
		return f.data, f.err
	}
	f.tried = true
	f.err = module.Guard(r.m.Path, func() (err error) {
		f.data, err = r.separate.debugFrame()
		return err
	})
	return f.data, f.err
}

func (s *separate) debugFrame() ([]byte, error) {
	const name = ".debug_frame"
	file := DebugFileOf(s.m)
	section, p, err := findDebug(file, name)
	if err != nil || p == nil {
		return section.Data, err
	}
	if p.size > s.files.left {
		return nil, fmt.Errorf("inflate %s of %q: %d bytes are more than is inflated by default", p.name, file.Path,
			p.size)
	}
	s.files.left -= p.size
	return debugSection(file, name)
}

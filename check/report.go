package check

import "github.com/fpstack/fpstack/maps"

// Report is what was found of files or of one process.
type Report struct {
	PID     int // 0 for files
	Comm    string
	Modules []*Module // in the order they were named or mapped
	// Unnamed is executable memory that no file holds, as JITs make it: regions and bytes.
	Unnamed      int
	UnnamedBytes uint64
	Threads      []Thread // of a process
	Required     []Aspect
	Problems     []string // what could not be looked at
}

// Unmet is a module that does not have what is required.
type Unmet struct {
	Module *Module
	Aspect Aspect
	Why    string
}

// Unmet lists what is not met, by aspect.
func (r *Report) Unmet() []Unmet {
	var out []Unmet
	for _, a := range r.Required {
		for _, m := range r.Modules {
			if why, ok := m.Meets(a); !ok {
				out = append(out, Unmet{m, a, why})
			}
		}
	}
	return out
}

// System reports whether m came with the system, as its path says: nobody who checks a program builds
// it.
func (m *Module) System() bool {
	return m.VDSO || maps.OfSystem(m.Path)
}

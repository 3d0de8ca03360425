package cfi

import "errors"

// Each calls visit for every FDE of .eh_frame and then of .debug_frame, each section's in order of
// address, until visit returns false. Those of functions that the linker removed, and empty ones, are
// left out. The search table is not used: what it leaves out is seen too.
//
// The error says which entries could not be read; the others were visited.
func (t *Table) Each(visit func(FDE) bool) error {
	var errs []error
	for _, s := range []*frames{t.eh, t.debug} {
		x := s.walked()
		errs = append(errs, x.problem)
		for _, r := range x.ranges {
			f, err := s.fde(r.offset)
			if err != nil { // it was read once already
				errs = append(errs, err)
				continue
			}
			if !visit(f) {
				return errors.Join(errs...)
			}
		}
	}
	return errors.Join(errs...)
}

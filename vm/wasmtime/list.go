package wasmtime

import "github.com/fpstack/fpstack/mem"

// Functions lists the functions of all images, as they were at the last Scan, with the names that frames have, glue of
// wasmtime too: see vm.FunctionLister.
func (r *Runtime) Functions(yield func(start, end mem.Addr, name string) bool) error {
	for _, im := range r.known.Load().images {
		for i := range im.functions {
			f := &im.functions[i]
			l := im.labelOf(f)
			if !yield(im.text.Start+mem.Addr(f.start), im.text.Start+mem.Addr(f.end), l.shown()) {
				return nil
			}
		}
	}
	return nil
}

package coreclr

import (
	"fmt"
	"path"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/symbol"
)

// A profiler may give a method other IL than its assembly has. What the compiler says of lines is about that then, and
// PDBs are about the other. From .NET 10 on both are kept where the profiler says which place was which; what it does
// not say nothing tells.
//
// profilerEntry is the function by which the runtime begins a profiler; no other library that it loads exports one.
// Source: docs/design/coreclr/profiling, "Loading the profiler"; CoCreateProfiler in src/coreclr/vm/eetoprofinterface*.
const profilerEntry = "DllGetClassObject"

// findProfiler looks for a profiler among the libraries that are mapped and were not looked at yet. A core is not
// asked: that would want files which no stack needs.
func (r *Runtime) findProfiler(set *module.Set) {
	if r.looked == nil {
		return
	}
	own := path.Dir(r.o.m.Path)
	list := r.table.All()
	for i := range list {
		m := &list[i]
		if !m.IsFile() || m.Perm&maps.Exec == 0 || r.looked[m.Path] || path.Dir(m.Path) == own ||
			len(r.looked) == maxLibraries {
			continue
		}
		r.looked[m.Path] = true
		o := set.Find(m.Start)
		if o == nil || o.Err != nil {
			continue
		}
		if d := symbol.OpenDynamic(o); d != nil {
			if _, _, ok := d.Lookup(profilerEntry); ok {
				r.profiler = fmt.Errorf("a profiler is loaded, %q: lines of methods that it has rewritten "+
					"may be those of other statements", m.Path)
			}
		}
	}
}

// maxLibraries bounds those that are looked at.
const maxLibraries = 1 << 10

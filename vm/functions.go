package vm

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// Function is code that a runtime lists: [Start, End). Its name may hold any bytes.
type Function struct {
	Start, End mem.Addr
	Name       string
}

// maxFunctions bounds what is listed of one process.
const maxFunctions = 4 << 20

// Functions lists the code that the runtimes of the process know, by address. Where several know the same code it is
// that of the first. listers is how many runtimes can list theirs. An error says what is missing.
func (p *Process) Functions() (all []Function, listers int, err error) {
	var errs []error
	for _, r := range p.all {
		l, ok := r.(FunctionLister)
		if !ok {
			continue
		}
		listers++
		err := module.Guard(r.String(), func() error {
			return l.Functions(func(start, end mem.Addr, name string) bool {
				if start < end && name != "" {
					all = append(all, Function{start, end, name})
				}
				return len(all) < maxFunctions
			})
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("list code of %s: %w", r, err))
		}
	}
	if len(all) == maxFunctions {
		errs = append(errs, fmt.Errorf("more than %d functions", maxFunctions-1))
	}
	return apart(all), listers, errors.Join(errs...)
}

// apart sorts functions by address and takes out those that overlap one that was listed before.
func apart(all []Function) []Function {
	slices.SortStableFunc(all, func(a, b Function) int { return cmp.Compare(a.Start, b.Start) })
	kept := all[:0]
	for _, f := range all {
		if n := len(kept); n > 0 && f.Start < kept[n-1].End {
			continue
		}
		kept = append(kept, f)
	}
	return kept
}

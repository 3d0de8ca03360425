package vm

import (
	"fmt"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/vm/coreclr"
)

// Notes are sentences about modules whose code is of a language with a runtime, and is native code all the same: one
// about each such language.
func Notes(modules []*module.Module) []string {
	var first *module.Module
	n := 0
	for _, m := range modules {
		if !coreclr.AheadOfTime(m) {
			continue
		}
		if n++; first == nil {
			first = m
		}
	}
	if n == 0 {
		return nil
	}
	which := fmt.Sprintf("%q is", first.Name())
	if n > 1 {
		which = fmt.Sprintf("%q and %d more are", first.Name(), n-1)
	}
	return []string{which + " .NET compiled ahead of time (NativeAOT), which is native code: methods have the names " +
		"of symbols, where there are any"}
}

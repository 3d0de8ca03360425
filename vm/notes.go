package vm

import (
	"fmt"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/vm/coreclr"
	"github.com/fpstack/fpstack/vm/hotspot"
)

// aheadOfTime are languages with a runtime whose code is native code where it was compiled as a whole.
var aheadOfTime = []struct {
	is   func(*module.Module) bool
	what string
}{
	{coreclr.AheadOfTime, ".NET compiled ahead of time (NativeAOT)"},
	{hotspot.NativeImage, "Java compiled ahead of time (GraalVM's native-image)"},
}

// Notes are sentences about modules whose code is of a language with a runtime, and is native code all the same: one
// about each such language.
func Notes(modules []*module.Module) (notes []string) {
	for _, language := range aheadOfTime {
		var first *module.Module
		n := 0
		for _, m := range modules {
			if !language.is(m) {
				continue
			}
			if n++; first == nil {
				first = m
			}
		}
		if n == 0 {
			continue
		}
		which := fmt.Sprintf("%q is", first.Name())
		if n > 1 {
			which = fmt.Sprintf("%q and %d more are", first.Name(), n-1)
		}
		notes = append(notes, which+" "+language.what+", which is native code: methods have the names of symbols, "+
			"where there are any")
	}
	return notes
}

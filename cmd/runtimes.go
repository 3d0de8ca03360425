package cmd

import (
	"github.com/fpstack/fpstack/sampler"
	"github.com/fpstack/fpstack/vm"
)

// runtimes returns what makes the runtimes of each process that one run meets.
func runtimes() func() sampler.Runtimes {
	t := vm.NewTable(vm.Kinds)
	return func() sampler.Runtimes { return t.Process() }
}

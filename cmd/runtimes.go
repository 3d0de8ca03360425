package cmd

import (
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/sampler"
	"github.com/fpstack/fpstack/vm"
)

// runtimes returns what makes the runtimes of each process that one run meets.
func runtimes() func(module.Image) sampler.Runtimes {
	t := vm.NewTable(vm.Kinds)
	return func(i module.Image) sampler.Runtimes { return t.Process(i) }
}

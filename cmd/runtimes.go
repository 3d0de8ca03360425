package cmd

import (
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/sampler"
	"github.com/fpstack/fpstack/vm"
	"github.com/fpstack/fpstack/work"
)

// runtimes returns what makes the runtimes of each process that one run meets.
func (o *namingOptions) runtimes(b *work.Budget) func(module.Image) sampler.Runtimes {
	t := o.vms(b)
	return func(i module.Image) sampler.Runtimes { return t.Process(i) }
}

// vms recognises runtimes, with source maps if they are wanted.
func (o *namingOptions) vms(b *work.Budget) *vm.Table {
	t := vm.NewTable(vm.Kinds)
	if o.sourceMaps && !o.noLines {
		t.Translate(b)
	}
	return t
}

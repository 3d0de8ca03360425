package cmd

import (
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/sampler"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/vm"
	"github.com/fpstack/fpstack/work"
)

// runtimesOf returns what makes the runtimes of each process that one run meets.
func runtimesOf(t *vm.Table) func(module.Image) sampler.Runtimes {
	return func(i module.Image) sampler.Runtimes { return t.Process(i) }
}

// vms recognises runtimes, with source maps if they are wanted, and with debug files; nil for none.
func (o *namingOptions) vms(b *work.Budget, files *symbol.Files) *vm.Table {
	t := vm.NewTable(vm.Kinds, b)
	t.Debug(files)
	if o.allLines() {
		t.Translate()
	}
	return t
}

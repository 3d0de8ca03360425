package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/agent"
)

// changeable are the options that may change while an agent runs, besides the rules of its file.
var changeable = []string{"pid", "name", "cgroup", "container", "pod-uid", "unit", "user", "max-targets", "max-threads",
	"label"}

// reload reads the file of --config again, and has g do what it says now. What makes no sense is refused, and all
// stays as it is; what cannot change without a restart is named.
func (a *agentRun) reload(g *agent.Agent) {
	old := a.options.Load()
	fresh, f, err := a.again()
	if err != nil {
		a.complain(fmt.Errorf("read configuration again: what holds is kept: %w", err))
		return
	}
	var later []string
	f.VisitAll(func(flag *pflag.Flag) {
		was := a.command.Flags().Lookup(flag.Name)
		if !slices.Contains(changeable, flag.Name) && was != nil && was.Value.String() != flag.Value.String() {
			later = append(later, flag.Name)
		}
	})
	next := *old
	next.rules, next.exclude, next.own, next.relabel = fresh.rules, fresh.exclude, fresh.own, fresh.relabel
	next.maxTargets, next.maxThreads = fresh.maxTargets, fresh.maxThreads
	a.options.Store(&next)
	g.Choose(next.chooses())
	a.tell("configuration was read again\n")
	if len(later) > 0 {
		a.tell(fmt.Sprintf("%s: needs a restart to change, and is as it was\n", strings.Join(later, ", ")))
	}
}

// again reads the command line and the file as a new agent would.
func (a *agentRun) again() (*agentOptions, *pflag.FlagSet, error) {
	_, args, err := a.command.Root().Find(a.args)
	if err != nil {
		return nil, nil, err
	}
	fresh := newAgentOptions()
	f := pflag.NewFlagSet(a.command.Name(), pflag.ContinueOnError)
	fresh.register(f)
	if err := f.Parse(args); err != nil {
		return nil, nil, err
	}
	if err := fresh.check(f); err != nil {
		return nil, nil, err
	}
	return fresh, f, nil
}

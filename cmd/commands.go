package cmd

import (
	"slices"

	"github.com/spf13/cobra"
)

// subcommand is a subcommand that is not made yet.
type subcommand struct {
	name string
	make func(*app) *cobra.Command
}

// subcommands are all but those that cobra makes, in the order in which help shows them.
func subcommands() []subcommand {
	return []subcommand{
		{"dump", (*app).dumpCommand}, {"record", (*app).recordCommand}, {"top", (*app).topCommand},
		{"hang", (*app).hangCommand}, {"run", (*app).runCommand},
		{"agent", (*app).agentCommand}, {"flame", (*app).flameCommand},
		{"check", (*app).checkCommand}, {"doctor", (*app).doctorCommand},
		{"perf-map", (*app).perfMapCommand}, {"man", (*app).manCommand}, {"version", (*app).versionCommand},
	}
}

// cobras are the subcommands that cobra makes. They need all others.
var cobras = []string{"help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}

// addCommands adds to root the subcommands that the command line args may name: making the hundred flags of the
// others takes longer than reading the stack of a process. Help adds the rest.
func (a *app) addCommands(root *cobra.Command, args []string) {
	all := subcommands()
	isNamed := func(s subcommand) bool { return slices.Contains(args, s.name) }
	if slices.ContainsFunc(cobras, func(name string) bool { return slices.Contains(args, name) }) {
		a.addRest(root)
		if len(args) > 1 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
			complete(root, args[1:len(args)-1])
		}
		return
	}
	for _, s := range all {
		if isNamed(s) {
			root.AddCommand(s.make(a))
		}
	}
	root.CompletionOptions.DisableDefaultCmd = true
	show := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, words []string) {
		a.addRest(root)
		show(c, words)
	})
}

// addRest adds the subcommands that root has not yet.
func (a *app) addRest(root *cobra.Command) {
	for _, s := range subcommands() {
		if !slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == s.name }) {
			root.AddCommand(s.make(a))
		}
	}
	root.CompletionOptions.DisableDefaultCmd = false
	root.SetHelpCommand(a.helpCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	wordCobras(root)
}

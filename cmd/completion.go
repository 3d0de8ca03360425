package cmd

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/text"
)

// shells are those that cobra makes completion scripts for, and how each takes the script.
var shells = map[string]string{
	"bash": `Print the completion script for bash. It needs the package bash-completion.

  source <(fpstack completion bash)                               in this shell
  fpstack completion bash >/etc/bash_completion.d/fpstack         in all shells`,
	"zsh": `Print the completion script for zsh.

  source <(fpstack completion zsh)                                in this shell
  fpstack completion zsh >"${fpath[1]}/_fpstack"                  in all shells`,
	"fish": `Print the completion script for fish.

  fpstack completion fish | source                                in this shell
  fpstack completion fish >~/.config/fish/completions/fpstack.fish     in all`,
	"powershell": `Print the completion script for PowerShell.

  fpstack completion powershell | Out-String | Invoke-Expression`,
}

// wordCobras gives the commands that cobra makes help texts like those of the others.
func wordCobras(root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Short, c.Use, c.Long = "Print the completion script for a shell", "completion SHELL",
				"Print the script with which a shell completes options, process ids and names."
			for _, shell := range c.Commands() {
				shell.Short, shell.Long = "Print the completion script for "+shell.Name(), shells[shell.Name()]
			}
		}
	}
}

// complete gives the commands what a shell may complete after the words typed so far. Only the command that shells
// call needs it.
func complete(root *cobra.Command, typed []string) {
	for _, c := range append(root.Commands(), root) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			f.Usage = flagText(f)
			if f.Value.Type() != "bool" {
				_ = c.RegisterFlagCompletionFunc(f.Name, completionOf(f)) // it fails if there is one already
			}
		})
		switch c.Name() {
		case "fpstack":
			c.ValidArgsFunction = completeBegun
		case "dump", "check":
			c.ValidArgsFunction = completeProcessesAnd(cobra.ShellCompDirectiveDefault)
		case "record", "top":
			if !slices.Contains(typed, "--") { // cobra itself cannot tell whether -- was typed
				c.ValidArgsFunction = completeSubject
			}
		case "hang", "doctor", "perf-map", "agent":
			c.ValidArgsFunction = completeProcessesAnd(cobra.ShellCompDirectiveNoFileComp)
		case "man":
			c.ValidArgsFunction = completeCommands
		case "run", "flame", "completion", "help": // files, and what cobra knows
		default:
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

// completionOf gives what completes the value of f.
func completionOf(f *pflag.Flag) cobra.CompletionFunc {
	if values, ok := f.Value.(chooser); ok {
		return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			var all []string
			for _, w := range values.words() {
				all = addCandidate(all, typed, w.word, w.means)
			}
			return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		}
	}
	switch f.Name {
	case "pid":
		return completePIDs
	case "tid":
		return completeTIDs
	case "name":
		return completeNames
	case "output", "diff", "save", "config", "junit", "push-ca", "push-token-file":
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		}
	case "debug-dir", "sysroot", "report", "spool":
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	}
	return cobra.NoFileCompletions
}

// addCandidate adds word to all if it may follow what was typed, which is a list with commas perhaps. There it stays
// without its meaning: the script for bash compares words that have one only if they need no quotes.
func addCandidate(all []string, typed, word, means string) []string {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	if !strings.HasPrefix(before+word, typed) {
		return all
	}
	if before != "" {
		return append(all, before+word)
	}
	return append(all, cobra.CompletionWithDesc(word, means))
}

// completePIDs lists processes by id, with a name of each.
func completePIDs(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	all, _ := programs() // without /proc there is nothing to complete
	var found []string
	for _, p := range all {
		found = addCandidate(found, typed, strconv.Itoa(p.PID), plainText(strings.Join(p.Names, ", ")))
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeBegun completes processes and files once something is typed: before, there are the commands.
func completeBegun(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if typed == "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeProcessesAnd(cobra.ShellCompDirectiveDefault)(c, args, typed)
}

// completeSubject completes a process, and files once there is a command.
func completeSubject(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 && !isProcess(args[0]) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return completeProcessesAnd(cobra.ShellCompDirectiveNoFileComp)(c, args, typed)
}

// completeProcessesAnd completes process ids, names once a letter is typed, and what besides says, where there are
// none.
func completeProcessesAnd(besides cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if strings.Trim(typed, "0123456789,") != "" {
			names, _ := completeNames(c, args, typed)
			return names, besides
		}
		found, how := completePIDs(c, args, typed)
		return found, how | besides
	}
}

// completeTIDs lists the threads of the processes that -p or words name.
func completeTIDs(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	var pids ids
	for _, text := range append(args, c.Flags().Lookup("pid").Value.String()) {
		_ = pids.Set(text) // a word that is no id has no threads
	}
	var found []string
	for _, pid := range slices.Compact(slices.Sorted(slices.Values(pids))) { // cobra may have parsed them twice
		for _, t := range procfs.Threads("/proc", pid) {
			found = addCandidate(found, typed, strconv.Itoa(t.TID), plainText(t.Comm))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeNames lists the names of processes. A name that a shell might take for something else is left out: whoever
// runs a program chooses its name, and who presses Tab may be root.
func completeNames(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	all, _ := programs()
	var found []string
	for _, p := range all {
		for _, name := range p.Names {
			if strings.HasPrefix(name, typed) && name == text.FileName(name) && name[0] != '-' &&
				!slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeCommands lists the commands.
func completeCommands(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	var found []string
	for _, sub := range listed(c.Root()) {
		if len(args) == 0 && strings.HasPrefix(sub.Name(), typed) {
			found = append(found, cobra.CompletionWithDesc(sub.Name(), sub.Short))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// plainText makes of a text what needs no care in any shell or terminal.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" ,.:;_+/%-", r) {
			return r
		}
		return '_'
	}, text)
}

package cmd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/procfs"
)

// take takes words as -p and -n do: a number is a process id, anything else a name.
func (o *processOptions) take(words []string) {
	for _, word := range words {
		if o.pids.Set(word) != nil {
			o.byName = append(o.byName, word)
		}
	}
}

// args takes the words of a command that is about processes alone.
func (o *processOptions) args(_ *cobra.Command, words []string) error {
	o.take(words)
	return nil
}

// none reports whether no process is given.
func (o *processOptions) none() bool { return len(o.pids)+len(o.byName) == 0 }

// errNoProcess says that a command lacks a process.
var errNoProcess = usageError{errors.New("no process given: name one by its id or its name, as 4121 or nginx")}

// isProcess reports whether word means a process: it is an id, or a process has that name.
func isProcess(word string) bool {
	if new(ids).Set(word) == nil {
		return true
	}
	all, _ := programs() // without /proc there is no process
	return len(procfs.Named(all, word)) > 0
}

// args decides what the words of a command mean that samples: processes, or a command to run. again makes the flags
// anew. A word that could be both is refused: in a script nobody sees which one it was.
func (o *samplingOptions) args(c *cobra.Command, words []string, again func() *pflag.FlagSet) error {
	if c.ArgsLenAtDash() == 0 {
		o.command = words
		if len(words) == 0 {
			return usageError{errors.New("no command after --")}
		}
		return o.oneSubject()
	}
	if len(words) == 0 {
		return o.oneSubject()
	}
	first := words[0]
	_, err := exec.LookPath(first)
	runs, process := err == nil, isProcess(first) && onlyProcesses(again(), words)
	switch {
	case !runs && !isProcess(first):
		return unstarted(first)
	case runs && process:
		return usageError{fmt.Errorf("%q is the name of a process and of a program: write -n %s for the process, "+
			"-- %s to run the program", first, first, strings.Join(words, " "))}
	case runs:
		o.command = words
		return o.oneSubject()
	}
	f := c.Flags() // what follows a process are options of ours
	f.SetInterspersed(true)
	if err := f.Parse(words); err != nil {
		return usageError{err}
	}
	if f.ArgsLenAtDash() >= 0 {
		return usageError{fmt.Errorf("%q together with a command after --: give one of them", first)}
	}
	if help, _ := f.GetBool("help"); help {
		return pflag.ErrHelp
	}
	o.take(f.Args())
	return o.oneSubject()
}

// unstarted says that word is neither a process nor a program.
func unstarted(word string) error {
	all, _ := programs()
	return &unnamedError{name: word, near: procfs.Similar(all, word), orProgram: true}
}

// onlyProcesses reports whether words are processes and options of f, and no command with options of its own.
func onlyProcesses(f *pflag.FlagSet, words []string) bool {
	f.SetInterspersed(true)
	f.Bool("help", false, "")
	return f.Parse(words) == nil && f.ArgsLenAtDash() < 0 && !slices.ContainsFunc(f.Args(), func(word string) bool {
		return !isProcess(word)
	})
}

// oneSubject refuses both a process and a command, and neither.
func (o *samplingOptions) oneSubject() error {
	switch {
	case o.command != nil && !o.none():
		return usageError{errors.New("-p or -n together with a command: give one of them")}
	case o.command == nil && o.none():
		return usageError{errors.New("nothing to sample: give a process, as 4121 or nginx, or a command to run")}
	}
	return nil
}

// subject is what is sampled, as a circumstance.
func (o *samplingOptions) subject() string {
	if o.command != nil {
		return ofCommand
	}
	return ofProcess
}

// rootArgs takes the words of a command line without a command. One that no process has and that is nearly the
// name of a command is taken for that.
func (a *app) rootArgs(c *cobra.Command, o *dumpOptions, words []string) error {
	for _, word := range words {
		if isFile(word) || isProcess(word) {
			continue
		}
		a.addRest(c)
		if near := c.SuggestionsFor(word); len(near) > 0 {
			return usageError{fmt.Errorf("no process and no command is named %q; did you mean %s?", word,
				strings.Join(near, " or "))}
		}
	}
	return o.args(words)
}

// isFile reports whether word names a file rather than a process.
func isFile(word string) bool {
	if word == "-" || strings.Contains(word, "/") {
		return true
	}
	_, err := os.Stat(word)
	return err == nil
}

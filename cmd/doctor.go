package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/fpstack/fpstack/doctor"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/tracer"
)

// doctorOptions are the flags of doctor.
type doctorOptions struct {
	processOptions
	shownOptions
}

func (a *app) doctorCommand() *cobra.Command {
	o := &doctorOptions{}
	c := &cobra.Command{
		Use:   "doctor [OPTION…] [-p PID[,PID…] | -n NAME]",
		Short: "Check whether a process can be sampled, and what prevents it",
		Long: `Say whether a process can be sampled, what prevents it, and what to do about it.

It checks what the kernel checks: ids, capabilities, namespaces, Yama, seccomp,
another tracer. Nothing is stopped. If all is well it says so in one line.`,
		Example: `  fpstack doctor               what is possible here at all
  fpstack doctor -p 4121       why is process 4121 refused?`,
		Annotations: exitStatus("0", "every process can be sampled", "1", "one of them cannot"),
		Args:        noArgs,
		RunE:        func(c *cobra.Command, _ []string) error { return a.doctor(c.Context(), o) },
	}
	f := c.Flags()
	o.processOptions.register(f)
	o.shownOptions.register(f, textOrJSON(), "show every check, also where nothing refuses")
	sections(f, "pid", "Processes", "format", "Output")
	return c
}

func (a *app) doctor(_ context.Context, o *doctorOptions) error {
	unnamed, err := a.addNamed(&o.pids, o.byName)
	if err != nil {
		return err
	}
	pids := o.pids
	if len(pids) == 0 {
		pids = ids{0}
	}
	return a.writeVerdict(o.output, func(w io.Writer) error {
		refused := unnamed > 0
		for i, pid := range pids {
			e := examine(pid)
			refused = refused || !e.Passes()
			if i > 0 && o.format.word == "text" {
				fmt.Fprintln(w)
			}
			var err error
			if o.format.word == "json" {
				err = report.GatesJSON(w, e)
			} else {
				err = report.GatesText(w, e, o.verbose, o.style(a), a.lineWidth(o.output))
			}
			if err != nil {
				return fmt.Errorf("write gates of process %d: %w", pid, err)
			}
		}
		if refused {
			return errPart
		}
		return nil
	})
}

// examine checks all gates between us and process pid, and tries what the kernel says; 0 is no
// process.
func examine(pid int) *report.Examination {
	facts := readFacts(pid)
	e := &report.Examination{PID: pid, Place: place()}
	if pid == 0 {
		e.Gates = doctor.General(facts, e.Place)
		return e
	}
	if !facts.Exists {
		facts.Hidden = tracer.Lives(pid)
	}
	e.Comm, e.Trial = facts.Comm, true
	if err := tracer.Try(pid); err != nil {
		e.Tried = err.Error()
		facts.Refused = true
		var permission *tracer.PermissionError
		facts.CallRefused = errors.As(err, &permission) && permission.CallRefused
	}
	e.Gates = doctor.Judge(facts, e.Place)
	return e
}

// place is where the user is: a shell, a container, CI.
func place() doctor.Place {
	return doctor.PlaceFrom(os.Getenv, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

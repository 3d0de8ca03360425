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
	pids   ids
	byName []string
	format format
	output string
	colour colourMode
}

func (a *app) doctorCommand() *cobra.Command {
	o := &doctorOptions{format: "text", colour: "auto"}
	c := &cobra.Command{
		Use:   "doctor [-p PID[,PID…] | -n NAME]",
		Short: "Tell whether a process can be looked at, and what is in the way",
		Long: `doctor goes through the gates of the kernel: ids, capabilities, namespaces, Yama,
seccomp, another tracer. It says which of them refuses and what to do where you
stand. Nothing is stopped. Its status is 0 if every process named can be looked
at, else 1.`,
		Example: `  fpstack doctor               what we may do at all
  fpstack doctor -p 4121       why can process 4121 not be looked at?`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.doctor(c.Context(), o) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.VarP(&o.pids, "pid", "p", "processes to ask about; none: what we may do at all")
	f.StringArrayVarP(&o.byName, "name", "n", nil, nameUsage)
	f.VarP(&o.format, "format", "f", "form of the output")
	f.StringVarP(&o.output, "output", "o", "-", "file to write, whole or not at all; - is standard output")
	f.Var(&o.colour, "color", "when to colour")
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
			if i > 0 && o.format == "text" {
				fmt.Fprintln(w)
			}
			var err error
			if o.format == "json" {
				err = report.GatesJSON(w, e)
			} else {
				err = report.GatesText(w, e, o.style(a.stdout))
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

// style is that of standard output, none of a file.
func (o *doctorOptions) style(stdout io.Writer) report.Style {
	if !toStdout(o.output) {
		return nil
	}
	return o.colour.style(stdout)
}

// examine looks at all gates between us and process pid, and asks the kernel as well; 0 is no
// process.
func examine(pid int) *report.Examination {
	facts := look(pid)
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

// place is where the user stands.
func place() doctor.Place {
	return doctor.PlaceFrom(os.Getenv, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

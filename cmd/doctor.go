package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/fpstack/fpstack/doctor"
	"github.com/fpstack/fpstack/outfile"
	"github.com/fpstack/fpstack/push"
	"github.com/fpstack/fpstack/push/reach"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/tracer"
)

// doctorOptions are the flags of doctor.
type doctorOptions struct {
	processOptions
	shownOptions
	pushOptions
}

func (a *app) doctorCommand() *cobra.Command {
	o := &doctorOptions{}
	c := &cobra.Command{
		Use:   "doctor [OPTION…] [PID… | NAME…]",
		Short: "Check whether a process can be sampled, and what prevents it",
		Long: `Say whether a process can be sampled, what prevents it, and what to do about it.

It checks what the kernel checks: ids, capabilities, namespaces, Yama, seccomp,
another tracer. Nothing is stopped. If all is well it says so in one line.

With --push it checks the way to a profile store instead: its name, connection,
certificate, service, and whether it accepts an empty test request.`,
		Example: `  fpstack doctor               what is possible here at all
  fpstack doctor 4121          why is process 4121 refused?
  fpstack doctor --push otlp+http://collector:4318`,
		Annotations: exitStatus("0", "every process can be sampled, every store takes profiles", "1", "one cannot"),
		Args:        o.processOptions.args,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.shownOptions.check(c); err != nil {
				return err
			}
			return a.doctor(c.Context(), o)
		},
	}
	f := c.Flags()
	o.processOptions.register(f)
	o.shownOptions.register(f, textOrJSON(), "show every check, also where nothing refuses")
	o.registerStore(f)
	o.registerTrust(f)
	sections(f, "pid", "Processes", "format", "Output", "push", "Stores")
	return c
}

func (a *app) doctor(ctx context.Context, o *doctorOptions) error {
	if err := o.pushOptions.check(); err != nil {
		return err
	}
	if err := o.meansProcesses(); err != nil {
		return err
	}
	unnamed, err := a.addNamed(&o.pids, o.byName)
	if err != nil {
		return err
	}
	pids := o.pids
	if len(pids) == 0 && len(o.targets) == 0 {
		pids = ids{0}
	}
	var found []*report.Examination
	for _, pid := range pids {
		found = append(found, examine(pid))
	}
	stores, err := o.examineStores(ctx)
	if err != nil {
		return err
	}
	found = append(found, stores...)
	return a.writeVerdict(o.output, func(w io.Writer) error { return a.writeGates(w, o, found, unnamed > 0) })
}

// writeGates writes what was found. refused says that something is missing already.
func (a *app) writeGates(w io.Writer, o *doctorOptions, found []*report.Examination, refused bool) error {
	for i, e := range found {
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
			return fmt.Errorf("write gates: %w", err)
		}
	}
	if refused {
		return errPart
	}
	return nil
}

// examineStores goes the way to each store.
func (o *doctorOptions) examineStores(ctx context.Context) (found []*report.Examination, err error) {
	trust, err := o.trust()
	if err != nil {
		return nil, err
	}
	for _, t := range o.targets {
		e := &report.Examination{Store: t.String(), Place: place()}
		s := &push.Settings{Target: t, TLS: trust, TokenFile: credential(o.tokenFile), Header: o.header}
		if !t.IsFolder() {
			e.Gates = reach.Store(ctx, s)
		} else if f, err := outfile.OpenFolder(t.Path); err != nil {
			e.Gates = []doctor.Gate{{Name: "folder", State: doctor.Closed, Says: err.Error()}}
		} else {
			s.Folder = f.Root
			e.Gates = reach.Folder(s)
			f.Close()
		}
		found = append(found, e)
	}
	return found, nil
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

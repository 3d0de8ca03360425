package cmd

import (
	"errors"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/dump"
)

// fiberOptions are the flags that say which threads are listed that runtimes schedule by themselves.
type fiberOptions struct {
	goroutines, tasks, greenlets, virtual fiberMode
	locals                                bool
}

// register adds the flags to f.
func (o *fiberOptions) register(f *pflag.FlagSet) {
	o.goroutines.on, o.tasks.on, o.greenlets.on, o.virtual.on = true, true, true, true
	f.Var(&o.goroutines, "goroutines", "also all goroutines of a Go program, parked ones too; =false leaves them out")
	f.Var(&o.tasks, "tasks", "also the tasks of Python's asyncio that wait; =false leaves them out")
	f.Var(&o.greenlets, "greenlets", "also the greenlets of Python that wait, as gevent's; =false leaves them out")
	f.Var(&o.virtual, "virtual-threads", "also the virtual threads of Java that wait; =false leaves them out")
	f.BoolVar(&o.locals, "locals", false, "also the local variables of Python's frames, in short; may show secrets")
	for _, name := range []string{"goroutines", "tasks", "greenlets", "virtual-threads"} {
		f.Lookup(name).NoOptDefVal = "true"
	}
}

// given are the flags that the command line has, by the kinds that they mean.
func (o *fiberOptions) given() (names []string, on bool) {
	for _, m := range []struct {
		name string
		mode *fiberMode
	}{{"goroutines", &o.goroutines}, {"tasks", &o.tasks}, {"greenlets", &o.greenlets},
		{"virtual-threads", &o.virtual}} {
		if m.mode.given {
			names, on = append(names, m.name), on || m.mode.on
		}
	}
	return names, on
}

// check refuses options that these make no sense with.
func (o *fiberOptions) check(d *dumpOptions) error {
	names, on := o.given()
	if o.locals && (d.noStop || d.rolling) {
		return usageError{errors.New("--locals with --no-stop or --rolling: local variables are shown as they " +
			"are at one instant, with all threads stopped")}
	}
	if !on {
		return nil
	}
	switch name := names[0]; {
	case d.noStop:
		return usageError{errors.New("--" + name + " with --no-stop: " + name + " are shown as they are at one " +
			"instant, which takes a stop")}
	case d.rolling || len(d.tids) > 0:
		return usageError{errors.New("--" + name + " with --rolling or --tid: " + name + " are shown as they are at " +
			"one instant, with all threads stopped")}
	}
	return nil
}

// modes is what dumps list of them.
func (o *fiberOptions) modes(d *dumpOptions) dump.FiberModes {
	return dump.FiberModes{"goroutine": o.goroutines.fibers(d), "task": o.tasks.fibers(d),
		"greenlet": o.greenlets.fibers(d), "virtual thread": o.virtual.fibers(d)}
}

// fiberMode is the value of --goroutines, --tasks or --greenlets.
type fiberMode struct{ on, given bool }

// String, Set and Type implement pflag.Value.
func (m *fiberMode) String() string { return strconv.FormatBool(m.on) }

func (m *fiberMode) Set(s string) error {
	on, err := strconv.ParseBool(s)
	if err == nil {
		*m = fiberMode{on: on, given: true}
	}
	return err
}

func (m *fiberMode) Type() string { return "bool" }

// wanted reports whether they are to be listed. By default they are where the form has a place for them and all
// threads are stopped at one instant.
func (m *fiberMode) wanted(o *dumpOptions) bool {
	if m.given {
		return m.on
	}
	return len(o.tids) == 0 && !o.rolling && (o.format.word == "text" || o.format.word == "json")
}

// fibers is what dumps list of them.
func (m *fiberMode) fibers(o *dumpOptions) dump.Fibers {
	switch {
	case m.given && m.on:
		return dump.AskedFibers
	case m.wanted(o):
		return dump.AllFibers
	}
	return dump.NoFibers
}

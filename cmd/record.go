package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/hang/supervise"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/sampler"
	"github.com/fpstack/fpstack/text"
)

// recordOptions are the flags of record.
type recordOptions struct {
	samplingOptions
	viewOptions
	pushOptions
	duration  time.Duration
	output    string
	format    choice
	quiet     bool
	verbose   bool
	open      bool
	noSource  bool
	dotnetMap bool
	colour    colourMode
}

// recordCommand samples over time.
func (a *app) recordCommand() *cobra.Command {
	o := &recordOptions{colour: newColour(), format: profileForm()}
	c := &cobra.Command{
		Use:   "record [OPTION…] PID… | NAME… | CMD [ARG…]",
		Short: "Sample stacks over time into a flame graph or a profile",
		Long: `Sample the stacks of processes over time and write a flame graph or a profile.

Threads that run are stopped for some microseconds each; a thread that has not
run since its last sample is not stopped again. Nothing stays attached between
two samples.

A recording ends after -d, when all processes have ended, or at Ctrl-C; all
three write the result. A second Ctrl-C, a second later, discards it. A command
has fpstack's own files, environment and process group. If -d ends the recording
first, fpstack waits for the command. Its exit status is passed on. A word that
is both a process and a program is refused: -n NAME is a process, -- CMD a
command.

The ending of -o chooses the format:
  ` + allEndings() + `
Without -o the result goes to standard output as folded text, or, on a terminal,
to a new file fpstack-PID.html or fpstack-CMD.html in the current folder.

With --push the recording is sent to a profile store, each process by itself;
without -o it is not written then. What the store has not taken after half a
minute is kept in a file fpstack-PID-unsent.pb.gz.`,
		Example: `  fpstack record 4121 -d 30 -o out.html    half a minute as a flame graph
  fpstack record 4121 -o out.pb.gz         until Ctrl-C, for go tool pprof
  fpstack record -o build.html make -j8    a command and all that it starts
  fpstack record -n nginx --mode cpu       CPU time alone, without waiting
  fpstack record 4121 -d 10 | head         folded text for other tools
  fpstack record 4121 -d 60 --push pyroscope://store:4040`,
		Annotations: exitStatus("0", "all processes were recorded",
			"1", "some were not, or the result was saved in another folder", "2", "nothing was recorded or written",
			"125", "CMD: fpstack itself failed", "126", "CMD: it cannot be executed",
			"127", "CMD: it was not found", "other", "CMD: its own status, or 128 + N after signal N"),
		Args: func(c *cobra.Command, words []string) error {
			err := o.args(c, words, func() *pflag.FlagSet { return a.recordCommand().Flags() })
			a.runs = o.command != nil
			return err
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(a, c); err != nil {
				return err
			}
			return a.record(a.endable(c.Context()), o)
		},
	}
	f := c.Flags()
	o.registerProcesses(f)
	f.VarP((*seconds)(&o.duration), "duration", "d",
		"how long, as 30 (seconds) or 5m; by default until the end or Ctrl-C")
	outputFlag(f, &o.output)
	f.Lookup("output").DefValue, o.output = "", ""
	f.VarP(&o.format, "format", "f", "format of the output; by default from the ending of -o")
	f.BoolVar(&o.open, "open", false, "show the page in the browser of the desktop")
	o.samplingOptions.register(f)
	o.viewOptions.register(f)
	dotnetFlag(f, &o.dotnetMap)
	f.BoolVar(&o.noSource, "no-source", false, "html: leave out the source lines of the functions seen")
	o.registerStore(f)
	f.Var(&o.colour, "color", "use of colour in the summary")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress and no summary, only errors")
	f.BoolVarP(&o.verbose, "verbose", "v", false,
		"say what is recorded before it begins, and report which runtime data could not be read")
	f.SetInterspersed(false) // what follows a command is the command's
	sections(f, "pid", "Processes and threads", "duration", "Result", "rate", "Sampling", "max-frames", "Stacks",
		"names", "Names",
		"type", "What is written", "push", "Stores", "color", "Messages")
	return c
}

// check refuses values that make no sense together.
func (o *recordOptions) check(a *app, c *cobra.Command) error {
	switch {
	case c.Flags().Changed("duration") && o.duration <= 0:
		return usageError{fmt.Errorf("--duration %v is not positive", o.duration)}
	case o.typ != "" && !slices.Contains([]string{"samples", "wall", "cpu"}, o.typ):
		return usageError{fmt.Errorf("--type %q: a recording has samples, wall and cpu", o.typ)}
	}
	if err := o.pushOptions.check(); err != nil {
		return err
	}
	if err := o.samplingOptions.check(c); err != nil {
		return err
	}
	return checkEffects("record", c.Flags(), o.subject(), "format="+o.formName(a))
}

// formName is the format that is written, "none" if nothing is.
func (o *recordOptions) formName(a *app) string {
	if len(o.to) > 0 && o.output == "" && o.format.word == "" {
		return "none"
	}
	to, err := a.destine(o.output, o.format.word, "folded", "fpstack", o.open)
	if err != nil || to.form == nil {
		return "" // it is refused for that
	}
	return to.form.name
}

// recording is one run of record.
type recording struct {
	*app
	o  *recordOptions
	to destination // without a form: it is sent alone
	pushing
	rec     *sampler.Recorder
	command []string           // nil with -p
	child   *supervise.Command // nil with -p, and until it is started
	relay   supervise.Relay
	missing bool     // a process could not be recorded; it was reported
	cmdline []string // of the first process, with -p
	// sameFiles says that the first process sees the files that we see, under the same names.
	sameFiles bool
	added     []procfs.Identity // what was recorded from the beginning
	// tooShort says that the command had ended before it could be sampled.
	tooShort bool
	release  func() // ends what heeds Ctrl-Z, nil before it began
	unmap    func() // ends what --dotnet-perf-map began
	// unfollowed says why the recording has ended before the command, nil if it has not or was to.
	unfollowed error
}

// recordGC is how much garbage a recording keeps, in percent of what it needs: that grows with
// the stacks it met, and is of little use a second time while it does.
const recordGC = 30

// nameGC is the same while names are looked up and the result is written: for a moment two trees
// of stacks are held, and that is the peak.
const nameGC = 10

// record samples, writes, and says what was found.
func (a *app) record(ctx context.Context, o *recordOptions) error {
	unnamed, err := a.addNamed(&o.pids, o.byName)
	if err != nil {
		return err
	}
	var to destination
	if len(o.to) == 0 || o.output != "" || o.format.word != "" {
		if to, err = a.destine(o.output, o.format.word, "folded", recordStem(o.pids, o.command), o.open); err != nil {
			return err
		}
	} else if o.open {
		return usageError{errors.New("--open shows a file: name one with -o")}
	}
	debug.SetGCPercent(recordGC)
	r := &recording{app: a, o: o, to: to, command: o.command, missing: unnamed > 0, unmap: func() {}}
	defer func() {
		if r.release != nil {
			r.release()
		}
	}()
	if o.command == nil {
		defer r.heed(func(os.Signal) {})() // ctx ends by the first one
		return r.run(ctx)
	}
	defer r.heed(r.relay.Pass, supervise.PassedOn()...)()
	return r.runCommand(ctx)
}

// run does the recording. Its result is written before the command, if there is one, has ended.
func (r *recording) run(ctx context.Context) error {
	if r.to.form != nil {
		if err := r.checkWritable(r.to.path); err != nil {
			return err
		}
	}
	if err := r.openStores(); err != nil {
		return err
	}
	defer r.outlets.close()
	finder := r.finder(context.Background(), &r.o.namingOptions) // names are looked up when ctx has ended
	defer finder.Close()
	options := r.o.sampler(context.Background(), finder)
	options.KeepOrder = r.to.form != nil && r.to.form.order
	r.rec = sampler.New(options)
	defer r.rec.Close()
	if !r.o.quiet && r.command == nil {
		r.progress = newProgress(r.stderr)
		defer r.progress.clear()
	}
	// Between two rounds no thread of the target is stopped with us.
	r.release = supervise.TakeJobs().Serve(func(stop func()) {
		r.progress.clear()
		r.rec.Hold(stop)
	})
	if ctx.Err() != nil { // a signal came before anything began
		return errNothing
	}
	defer func() { r.unmap() }()
	if err := r.begin(ctx); err != nil {
		return err
	}
	p, err := r.sample(ctx)
	if err != nil {
		return err
	}
	return r.finish(p)
}

// begin starts the command, or finds the processes.
func (r *recording) begin(ctx context.Context) error {
	if r.command != nil {
		c, err := r.start(r.command, nil)
		if err != nil {
			return err
		}
		r.child = c
		r.relay.To(c)
		r.sameFiles = true
		defer r.note(c.PID()) // when it runs its program
		return r.follow()
	}
	if r.o.dotnetMap {
		stop, missing := r.dotnetMaps(ctx, r.o.pids)
		r.unmap = stop
		r.missing = r.missing || missing > 0
	}
	pids, unknown, err := r.known(&r.o.samplingOptions)
	if err != nil {
		return err
	}
	r.missing = r.missing || unknown > 0
	found := 0
	for _, pid := range pids {
		if err := r.rec.Add(pid); err != nil {
			r.complain(err)
			r.missing = true
			continue
		}
		if st, err := procfs.ReadStat("/proc", pid); err == nil {
			r.added = append(r.added, procfs.Identity{PID: pid, Start: st.Start})
		}
		r.note(pid)
		if found++; found == 1 {
			r.cmdline = procfs.Cmdline("/proc", pid)
			r.sameFiles = seesOurFiles(pid)
		}
	}
	if found == 0 {
		return errNothing
	}
	if r.o.verbose {
		fmt.Fprintf(r.stderr, "fpstack: recording to %s, until %s\n", text.Message(r.place()), r.until())
	}
	return nil
}

// place is where the recording goes, for a person.
func (r *recording) place() string {
	places := slices.Clone(r.o.to)
	if r.to.form != nil {
		places = append(places, r.to.place())
	}
	return strings.Join(places, ", ")
}

func (r *recording) until() string {
	if r.o.duration > 0 {
		return r.o.duration.String() + " have passed"
	}
	return "the end or Ctrl-C"
}

// sample samples until ctx ends, the duration has passed, or nothing is left to sample, and names what was seen. What
// a command leaves running in the background is let go with it.
func (r *recording) sample(ctx context.Context) (*profile.Profile, error) {
	if r.tooShort {
		return profile.NewBuilder(profile.SamplesCount, profile.WallTime, profile.CPUTime).Profile(), nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.o.duration > 0 {
		defer time.AfterFunc(r.o.duration, cancel).Stop()
	}
	if r.child != nil {
		go func() {
			select {
			case <-r.child.Ended():
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	var beside sync.WaitGroup
	beside.Go(func() { r.show(ctx) })
	beside.Go(func() { r.renote(ctx) })
	err := r.rec.Run(ctx)
	if ctx.Err() == nil && r.child != nil {
		err = r.lostCommand(err)
	}
	cancel()
	beside.Wait()
	if err != nil && !errors.Is(err, sampler.ErrNothing) { // they have all ended by now
		return nil, err
	}
	r.progress.update("looking up names …")
	defer r.progress.clear()
	debug.SetGCPercent(nameGC)
	return r.rec.Take()
}

// show keeps the line of progress up to date until ctx ends.
func (r *recording) show(ctx context.Context) {
	if r.progress == nil {
		return
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		s := r.rec.Stats()
		r.progress.update(progressText(&s, r.o.duration))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// finish writes p and the summary, and reports whether it is all.
func (r *recording) finish(p *profile.Profile) error {
	stats := r.rec.Stats()
	stats.Notes = append(slices.Clip(stats.Notes), profileNotes(p, &r.o.namingOptions)...)
	p.Comments = append(p.Comments, remarks(&stats)...)
	p.Command = r.command
	if p.Command == nil {
		p.Command = r.cmdline
	}
	if r.child == nil && r.expectsSamples() && !sampled(p) {
		r.writeRemarks(&stats)
		r.complain(r.whyNothing(&stats))
		return errNothing
	}
	if !r.o.quiet {
		r.summarize(p, &stats)
	}
	var err error
	if r.to.form != nil {
		err = r.write(p)
	}
	if sent := r.send(p); sent != nil {
		err = errors.Join(err, sent)
	}
	if err == nil && r.missing {
		err = errPart
	}
	return err
}

// write writes p to its destination, or, if that is not possible any more, where it can be
// found: half a minute of somebody's trouble is not thrown away for a full disk.
func (r *recording) write(p *profile.Profile) error {
	v, err := newView(p, nil, false, &r.o.viewOptions, r.warner(r.o.quiet))
	if err != nil {
		return err
	}
	if r.to.form.sources && !r.o.noSource && r.sameFiles {
		v.sources = sourceLines(p)
	}
	write := func(w io.Writer) error { return r.to.form.write(w, v) }
	r.progress.update("writing " + text.Message(r.to.place()) + " …")
	path, err := r.store(&r.to, write)
	r.progress.clear()
	if err == nil {
		note := r.to.form.unitNote(v)
		switch {
		case r.o.quiet:
		case path != "-":
			fmt.Fprintf(r.stderr, "wrote %s%s\n", text.Message(path), note)
		case note != "":
			fmt.Fprintf(r.stderr, "folded text is on standard output%s\n", note)
		}
		if !r.o.open {
			return nil
		}
		if err := openPage(path); err != nil {
			r.complain(err)
			return errPart
		}
		return nil
	}
	if errors.Is(err, syscall.EPIPE) {
		return err
	}
	r.complain(err)
	path, err = r.createOutput(os.TempDir(), recordStem(r.o.pids, r.command), r.to.form.endings[0], write)
	if err != nil {
		r.complain(fmt.Errorf("save recording in another folder: %w", err))
		return errNothing
	}
	fmt.Fprintf(r.stderr, "  The recording was saved as %s\n", text.Message(path))
	return errPart
}

// processes words process ids.
func processes(pids ids) string {
	if len(pids) == 1 {
		return "process " + pids.String()
	}
	return "processes " + strings.ReplaceAll(pids.String(), ",", ", ")
}

package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fpstack/fpstack/agent"
	"github.com/fpstack/fpstack/agent/choose"
	"github.com/fpstack/fpstack/hang/supervise"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/push"
	"github.com/fpstack/fpstack/push/otlp"
	"github.com/fpstack/fpstack/push/perprocess"
	"github.com/fpstack/fpstack/sampler"
	"github.com/fpstack/fpstack/text"
	"github.com/fpstack/fpstack/tracer"
)

// agent records and sends until a signal ends it.
func (a *app) agent(c *cobra.Command, o *agentOptions) error {
	signals := make(chan os.Signal, 1) // SIGUSR1 would end a program that does not wait for it
	signal.Notify(signals, syscall.SIGUSR1)
	defer signal.Stop(signals)
	var but []os.Signal
	if o.config != "" { // without it there is nothing to read again
		but = append(but, syscall.SIGHUP)
		signal.Notify(signals, but...)
	}
	ctx := a.endable(c.Context(), but...)
	run := &agentRun{app: a, command: c}
	run.options.Store(o)
	go agent.KeepHeap(ctx, run.heapLimit)
	stores, odd, err := o.pushOptions.open(o.stuckAfter)
	if err != nil {
		return err
	}
	for _, e := range odd {
		a.complain(e)
	}
	finder := a.finder(context.Background(), &o.namingOptions)
	options := o.sampler(context.Background(), finder)
	options.Stay, options.Gentle, options.BudgetWindow = true, true, o.interval
	r := sampler.New(options)
	err = run.record(ctx, r, stores, signals)
	if errors.Is(err, agent.ErrStuck) { // what it uses stays open: it may go on until we have ended
		a.complain(err)
		return statusError(statusStuck)
	}
	closed := errors.Join(r.Close(), finder.Close())
	stores.close()
	if errors.Is(err, push.ErrStuck) {
		a.complain(err)
		return statusError(statusStuck)
	}
	return errors.Join(err, closed)
}

// agentRun is an agent that runs, and its options, of which some may change.
type agentRun struct {
	*app
	command *cobra.Command
	options atomic.Pointer[agentOptions]
}

// heapLimit is the limit of memory for the options.
func (a *agentRun) heapLimit() int64 {
	o := a.options.Load()
	each := int64(push.MaxInMemory)
	if o.spool != "" {
		each = 1 << 20
	}
	return agent.HeapLimit(len(o.to), min(each, int64(o.spoolLimit)), o.maxTargets, o.maxThreads)
}

// record records by r until ctx ends, and shows how that goes. What signals bring is done meanwhile. When it has
// returned nothing uses r and the stores, unless the error is an agent.ErrStuck.
func (a *agentRun) record(ctx context.Context, r *sampler.Recorder, stores *outlets, signals <-chan os.Signal) error {
	o := a.options.Load()
	g := agent.New(a.agentOptions(o, r, stores))
	listener, err := o.listen()
	if err != nil {
		return err
	}
	if listener != nil {
		defer serveMetrics(listener, g)()
	}
	a.progress = newProgress(a.stderr)
	defer a.progress.clear()
	defer a.showStatus(o, g, signals)()
	release := supervise.TakeJobs().Serve(func(stop func()) {
		a.progress.clear()
		r.Hold(stop)
	})
	defer release()
	if !o.quiet && a.progress == nil {
		fmt.Fprintf(a.stderr, "fpstack: recording; profiles every %v to %s\n", o.interval, strings.Join(o.to, ", "))
	}
	return g.Run(ctx)
}

// choice is what o says of which processes are recorded.
func (o *agentOptions) chooses() agent.Choice {
	return agent.Choice{Chooser: choose.NewScanner("/proc", o.rules, o.exclude, os.Getpid()),
		MaxTargets: o.maxTargets, MaxThreads: o.maxThreads}
}

// agentOptions is what o says of an agent.
func (a *agentRun) agentOptions(o *agentOptions, r *sampler.Recorder, stores *outlets) agent.Options {
	opt := agent.Options{Recorder: r, Follower: follower{r}, Choice: o.chooses(),
		Interval: o.interval, StuckAfter: o.stuckAfter,
		Budget: float64(o.maxOverhead), Identify: a.identify, Another: another,
		Look:    func(pid int) (uint64, choose.Program, bool) { return choose.Look("/proc", pid) },
		Threads: func(pid int) int { return procfs.ThreadCount("/proc", pid) },
		Refusal: refusalWord, Usage: ownUsage,
		Parts: func(p *profile.Profile, identity perprocess.Identifier) ([]push.Recorded, error) {
			now := a.options.Load()
			return now.recorded(p, identity, now.relabel...)
		},
		Say: func(line string) {
			a.progress.clear()
			fmt.Fprintf(a.stderr, "fpstack: %s\n", text.Message(line))
		}}
	if o.asyncCalls {
		opt.AsyncCounter = &asyncCounter{a.app, o.namingOptions}
	}
	for _, s := range stores.all {
		opt.Stores = append(opt.Stores, agent.Store{Name: s.Target().String(), Outlet: s, Accountant: s})
	}
	return opt
}

// follower is a Recorder as an agent wants it.
type follower struct{ *sampler.Recorder }

// Counts implements agent.Follower.
func (f follower) Counts() agent.Counts {
	followed := f.Processes()
	s := f.Stats()
	c := agent.Counts{Rounds: s.Ticks + s.LateTicks, Samples: s.Samples, Stops: s.Stops, Wanted: s.Wanted,
		Notes: s.Notes}
	for _, p := range followed {
		c.Targets = append(c.Targets, agent.Target(p))
	}
	return c
}

// identify is identify with what rules of relabelling want.
func (a *agentRun) identify(c *choose.Chosen) perprocess.Identity {
	id := identify(c)
	if perprocess.WantHostname(a.options.Load().relabel) {
		id.Hostname = perprocess.Hostname("/proc", c.PID)
	}
	return id
}

// identify reads who a process is, and what its rule adds. A name that chose it tells more than that of its
// executable, which others may share: redis-server is a link to redis-check-rdb in Debian.
func identify(c *choose.Chosen) perprocess.Identity {
	id := perprocess.Identify("/proc", c.PID)
	id.Labels, _ = push.ParseLabels(c.Rule.Labels) // they were checked
	if id.Service == "" {
		id.Service = c.Name
	}
	if c.Rule.Service != "" {
		id.Labels = append(id.Labels, otlp.Attribute{Key: "service.name", Value: c.Rule.Service})
	}
	return id
}

// another reports whether the id of a process is that of another one by now.
func another(c *choose.Chosen) bool {
	start, lives := procfs.Start("/proc", c.PID)
	return lives && start != c.Start
}

// refusalWord words in few words why a process cannot be followed, "" if it has ended.
func refusalWord(err error) string {
	var zombie *tracer.ZombieError
	var traced *tracer.TracedError
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, tracer.ErrNoProcess), errors.As(err, &zombie):
		return ""
	case errors.As(err, &traced):
		return "traced by another program"
	case errors.Is(err, fs.ErrPermission):
		return "not permitted"
	case tracer.Transient(err):
		return "no descriptors or memory left"
	}
	return "cannot be followed"
}

// ownUsage is the CPU time of this program and its memory.
func ownUsage() (cpu time.Duration, memory int64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
		cpu = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	fields := strings.Fields(string(procfs.Read("/proc/self/statm", 4096)))
	if len(fields) > 1 {
		pages, _ := strconv.ParseInt(fields[1], 10, 64)
		memory = pages * int64(os.Getpagesize())
	}
	return cpu, memory
}

// statusEvery is how often the status is written where it is not drawn.
const statusEvery = time.Minute

// showStatus shows what g does: on a terminal in a line that is drawn again, else in a line a minute, and when a
// store's trouble begins or ends. SIGUSR1 writes the accounts, SIGHUP has the options read again. It ends with the
// function returned.
func (a *agentRun) showStatus(o *agentOptions, g *agent.Agent, signals <-chan os.Signal) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		written, trouble := time.Now(), ""
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				a.progress.clear()
				if s == syscall.SIGHUP {
					a.reload(g)
					continue
				}
				r := g.Report()
				a.tell(r.Accounts())
			case <-tick.C:
				if o.quiet {
					continue
				}
				r := g.Report()
				if a.progress != nil {
					a.progress.update(text.Message(r.Line()))
					continue
				}
				if now := r.Troubles(); now != trouble || time.Since(written) >= statusEvery {
					written, trouble = time.Now(), now
					a.tell(r.Line() + "\n")
				}
			}
		}
	}()
	return func() {
		close(done)
		select {
		case <-ended:
		case <-time.After(time.Second): // who samples may be stuck
		}
		a.progress.clear()
	}
}

// tell writes lines to standard error.
func (a *app) tell(lines string) {
	for line := range strings.Lines(lines) {
		fmt.Fprintf(a.stderr, "fpstack: %s\n", text.Message(strings.TrimSuffix(line, "\n")))
	}
}

// listen opens the address of --metrics, nil if there is none.
func (o *agentOptions) listen() (net.Listener, error) {
	if o.metrics == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", o.metrics)
	if err != nil {
		return nil, fmt.Errorf("serve metrics: %w", err)
	}
	return l, nil
}

// serveMetrics serves what g does at /metrics until the function returned is called.
func serveMetrics(l net.Listener, g *agent.Agent) (stop func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		r := g.Report()
		r.WriteMetrics(w)
	})
	const short = 10 * time.Second
	s := &http.Server{Handler: mux, ReadTimeout: short, WriteTimeout: short, IdleTimeout: time.Minute,
		MaxHeaderBytes: 8 << 10}
	go s.Serve(l)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.Shutdown(ctx) // who is being answered reads what the recorder counts
		s.Close()
	}
}

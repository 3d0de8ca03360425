package cmd

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/fpstack/fpstack/errand"
)

// endSignals are the signals that end what fpstack is doing: those of Ctrl-C, kill and a
// terminal that goes away, but for what was to be ignored when fpstack began (nohup, a
// shell's background job). A handler would undo that, for a command that is started too.
func endSignals() []os.Signal {
	signals := []os.Signal{syscall.SIGTERM}
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	return signals
}

// endable returns a context that ends with the first signal that is to end fpstack, but for those that mean something
// else. The same a second later, or more, ends the program at once.
func (a *app) endable(ctx context.Context, but ...os.Signal) context.Context {
	ends := slices.DeleteFunc(endSignals(), func(s os.Signal) bool { return slices.Contains(but, s) })
	ctx, a.unheed = a.endedBy(ctx, ends)
	return ctx
}

// brief is how long a run may do without handlers of signals.
const brief = 50 * time.Millisecond

// endableLater is endable for what leaves nothing half-made. A signal that comes before brief is over ends the
// program at once, and the kernel lets go of what is stopped: most dumps are done by then, and handlers take two
// changes of threads a signal at the start and at the end, an eighth of such a dump's time.
func (a *app) endableLater(ctx context.Context) context.Context {
	ctx, end := context.WithCancel(ctx)
	over := make(chan struct{})
	later := time.AfterFunc(brief, func() {
		heard, stop := a.endedBy(ctx, endSignals())
		context.AfterFunc(heard, end)
		<-over
		stop()
	})
	a.unheed = func() { later.Stop(); close(over); end() }
	return ctx
}

// endedBy returns a context that ends with the first of the signals, and what takes the handlers away. Who sends it
// again a second later means it: timeout(1) sends SIGTERM twice at once, to its child and to its group.
func (a *app) endedBy(ctx context.Context, ends []os.Signal) (heard context.Context, stop func()) {
	heard, end := context.WithCancel(ctx)
	signals, done := make(chan os.Signal, 16), make(chan struct{})
	signal.Notify(signals, ends...)
	go func() {
		for seen := (repeats{}); ; end() {
			select {
			case <-done:
				return
			case s := <-signals:
				errand.End()
				if seen.again(s, time.Now()) {
					a.end(s)
				}
			}
		}
	}()
	return heard, func() {
		signal.Stop(signals)
		close(done)
		end()
	}
}

// heed calls each with every signal that is to end fpstack, and with those of more. When somebody gives up, the
// program ends at once, by that signal, and leaves no half-written file. The returned function ends this.
func (a *app) heed(each func(os.Signal), more ...os.Signal) (stop func()) {
	signals, done := make(chan os.Signal, 16), make(chan struct{})
	ends := endSignals()
	signal.Notify(signals, append(more, ends...)...)
	go func() {
		seen := repeats{}
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				each(s)
				if slices.Contains(ends, s) && seen.again(s, time.Now()) {
					a.end(s)
				}
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// repeats knows when each signal came first.
type repeats map[os.Signal]time.Time

// again reports whether who sends s at that time means it once more: one event can bring several signals. A terminal
// that is closed sends SIGHUP by the shell and by the kernel, ten milliseconds apart, and a service manager may send
// SIGHUP after SIGTERM.
func (r repeats) again(s os.Signal, now time.Time) bool {
	const apart = time.Second
	first, came := r[s]
	if !came {
		r[s] = now
	}
	return came && now.Sub(first) >= apart
}

// end ends the program by signal s. The kernel lets go of everything that is stopped.
func (a *app) end(s os.Signal) {
	a.files.Abandon()
	a.saves.Abandon()
	a.progress.clear()
	signal.Reset(s)
	syscall.Kill(os.Getpid(), s.(syscall.Signal))
}

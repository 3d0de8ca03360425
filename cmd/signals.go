package cmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"
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

// endable returns a context that ends with the first signal that is to end fpstack. A second one ends the program
// as if it had no handler.
//
// Commands that would leave nothing half-made do without, and end at once: the kernel lets go of what is stopped. A
// handler takes two changes of threads a signal, at the start and at the end, an eighth of a dump's time.
func (a *app) endable(ctx context.Context) context.Context {
	ctx, stop := signal.NotifyContext(ctx, endSignals()...)
	context.AfterFunc(ctx, stop)
	a.unheed = stop
	return ctx
}

// heed calls first with the first signal that is to end fpstack. At the second one the
// program ends at once, by that signal, and leaves no file half-written behind. The
// returned function ends this.
func (a *app) heed(first func(os.Signal)) (stop func()) {
	signals, done := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(signals, endSignals()...)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case s := <-signals:
				if n == 0 {
					first(s)
					continue
				}
				a.end(s)
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// end ends the program by signal s. The kernel lets go of everything that is stopped.
func (a *app) end(s os.Signal) {
	a.files.Abandon()
	a.progress.clear()
	signal.Reset(s)
	syscall.Kill(os.Getpid(), s.(syscall.Signal))
}

package cmd

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/fpstack/fpstack/sampler"
)

// suspendable lets Ctrl-Z stop this program between two rounds of rec's looks: at any other moment
// a thread of the target could stand still with us, for as long as the shell likes. clear takes what
// was drawn off the terminal. The returned function ends this; the signal does nothing from then
// on, since Go cannot give it its default back.
func suspendable(rec *sampler.Recorder, clear func()) (release func()) {
	if signal.Ignored(syscall.SIGTSTP) {
		return func() {}
	}
	asked, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(asked, syscall.SIGTSTP)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-asked:
				if shellWatches(os.Getpid()) { // else nobody would let us go on
					clear()
					rec.Hold(stopSelf)
				}
			}
		}
	}()
	return func() {
		signal.Stop(asked)
		close(done)
	}
}

// stopSelf stops this process and returns when it goes on.
func stopSelf() {
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, syscall.SIGCONT)
	defer signal.Stop(goOn)
	syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-goOn
}

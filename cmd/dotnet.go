package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/vm/coreclr/diagnostic"
)

// dotnetFlag adds --dotnet-perf-map.
func dotnetFlag(f *pflag.FlagSet, on *bool) {
	f.BoolVar(on, "dotnet-perf-map", false, "have .NET itself write a perf map of its methods meanwhile, as asked "+
		"by its diagnostic socket: for versions that fpstack cannot read")
}

// askTime bounds how long a runtime may take to answer: it writes down all methods first, some ten thousand.
const askTime = 10 * time.Second

// dotnetMaps makes the runtimes of .NET in those processes write perf maps, until stop is called. Those that do not
// are reported, and counted.
func (a *app) dotnetMaps(ctx context.Context, pids []int) (stop func(), missing int) {
	var on []int
	for _, pid := range pids {
		if err := askDotnet(ctx, pid, diagnostic.EnablePerfMap); err != nil {
			a.complain(err)
			missing++
			continue
		}
		on = append(on, pid)
	}
	return func() {
		for _, pid := range on {
			// ctx may have ended, by which the recording did.
			err := askDotnet(context.WithoutCancel(ctx), pid, diagnostic.DisablePerfMap)
			if err != nil && !hasEnded(err) {
				a.complain(err)
			}
		}
	}, missing
}

// askDotnet gives a command to the runtime of a process, by its diagnostic socket.
func askDotnet(ctx context.Context, pid int, command func(io.ReadWriter) error) error {
	p, err := tracer.Open(pid, tracer.Options{NoStop: true})
	if err != nil {
		return err
	}
	defer p.Close()
	// Source: ds-ipc-pal-socket.c in src/native/eventpipe of dotnet/runtime.
	dir, err := p.Variable("TMPDIR")
	if err != nil {
		return err
	}
	if dir == "" {
		dir = "/tmp"
	}
	inner := p.InnerID()
	c, err := p.DialOwn(ctx, dir, func(name string) bool { return diagnostic.IsSocket(name, inner) },
		time.Now().Add(askTime))
	if err == nil {
		defer c.Close()
		err = command(c)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("it has no diagnostic socket in %q: it is no .NET, has just begun, or was started with "+
			"DOTNET_EnableDiagnostics=0", dir)
	case err != nil:
		err = fmt.Errorf("%w%s", err, dotnetRemedy(err))
	default:
		return nil
	}
	return fmt.Errorf("ask the runtime of process %d for a perf map: %w", pid, err)
}

// dotnetRemedy is what a person may do about err; "" for nothing.
func dotnetRemedy(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "; nobody listens there any more"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("; it did not answer in %v: is it stopped, or busy with a garbage collection?", askTime)
	case errors.Is(err, diagnostic.ErrTooOld):
		return "; start it with DOTNET_PerfMapEnabled=3"
	}
	return ""
}

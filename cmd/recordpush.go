package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/fpstack/fpstack/flame"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/push"
	"github.com/fpstack/fpstack/push/perprocess"
	"github.com/fpstack/fpstack/text"
)

// pushFor is how long a recording is offered to a store that does not take it.
const pushFor = 30 * time.Second

// pushing is what a recording has to do with stores. It is for several goroutines at a time.
type pushing struct {
	outlets *outlets // nil: it is not sent

	mu  sync.Mutex
	who map[procfs.Identity]perprocess.Identity // processes that may have ended when it is sent
}

// openStores opens what the recording is sent to, before it begins.
func (r *recording) openStores() error {
	if len(r.o.to) == 0 {
		return nil
	}
	opened, odd, err := r.o.pushOptions.open(0)
	if err != nil {
		return err
	}
	r.outlets, r.who = opened, map[procfs.Identity]perprocess.Identity{}
	for _, e := range odd {
		r.complain(e)
	}
	return nil
}

// note keeps who a process is, while that can be read.
func (p *pushing) note(pid int) {
	if p.outlets == nil {
		return
	}
	start, lives := procfs.Start("/proc", pid)
	if !lives {
		return
	}
	id := perprocess.Identify("/proc", pid)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.who[procfs.Identity{PID: pid, Start: start}] = id
}

// renote reads again who the processes are, some times a second until ctx ends: a shell becomes what it was told to
// run.
func (p *pushing) renote(ctx context.Context) {
	if p.outlets == nil {
		return
	}
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p.mu.Lock()
		for process := range p.who {
			id := perprocess.Identify("/proc", process.PID)
			start, lives := procfs.Start("/proc", process.PID)
			if id.Exe != "" && lives && start == process.Start {
				p.who[process] = id
			}
		}
		p.mu.Unlock()
	}
}

// identity is who a process is. Of one that was started meanwhile it may be too late to read it, and its id may be
// another's by now: it has what all that were noted have in common.
func (p *pushing) identity(process procfs.Identity) perprocess.Identity {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id, ok := p.who[process]; ok {
		return id
	}
	var common *perprocess.Identity
	for _, id := range p.who {
		own := perprocess.Identity{Service: id.Service, Container: id.Container, Pod: id.Pod, Names: id.Names}
		switch {
		case common == nil:
			common = &own
		case own.Service != common.Service || own.Container != common.Container || own.Pod != common.Pod ||
			own.Names != common.Names:
			return perprocess.Identity{}
		}
	}
	if common == nil {
		return perprocess.Identity{}
	}
	return *common
}

// send sends p to each store. What a store does not take is kept in a file.
func (r *recording) send(p *profile.Profile) error {
	if r.outlets == nil || len(p.Samples) == 0 {
		return nil
	}
	recorded, failed := r.o.recorded(p, r.identity)
	ctx, cancel := context.WithTimeout(context.Background(), pushFor)
	defer cancel()
	var waits sync.WaitGroup
	for _, out := range r.outlets.all {
		out.Put(recorded, p.Start, p.Start.Add(p.Duration))
		waits.Go(func() { out.Persist(ctx) })
	}
	r.progress.update("sending …")
	waits.Wait()
	r.progress.clear()
	var missed []string
	if failed != nil {
		r.complain(fmt.Errorf("send recording: %w", failed))
	}
	for _, out := range r.outlets.all {
		if !r.reportSent(out) || failed != nil {
			missed = append(missed, out.Target().String())
		}
	}
	if len(missed) > 0 {
		return r.keepUnsent(p, missed)
	}
	return nil
}

// reportSent says what became of what was put into out, and reports whether it has all been sent.
func (r *recording) reportSent(out *push.Outlet) bool {
	b := out.Balance()
	lost := b.Taken - b.Sent
	if lost == 0 {
		if !r.o.quiet {
			fmt.Fprintf(r.stderr, "sent %s to %s\n", text.Count(b.Sent, "profile"), text.Message(out.Target().String()))
		}
		return true
	}
	err := fmt.Errorf("push to %s: %s", out.Target(), b)
	if trouble := out.Trouble(); trouble != nil {
		err = fmt.Errorf("push to %s: %s: %w", out.Target(), b, trouble)
	}
	r.complain(err)
	return false
}

// keepUnsent writes what stores did not take into a file, with the reason.
func (r *recording) keepUnsent(p *profile.Profile, missed []string) error {
	kept := *p
	kept.Comments = append(kept.Comments[:len(kept.Comments):len(kept.Comments)],
		"not sent to "+strings.Join(missed, ", "))
	stem := recordStem(r.o.pids, r.command) + "-unsent"
	write := func(w io.Writer) error {
		return flame.WritePprof(w, &kept, flame.PprofOptions{Version: version(), NoIDs: true})
	}
	path, err := r.createOutput(".", stem, ".pb.gz", write)
	if err != nil {
		r.complain(err)
		path, err = r.createOutput(os.TempDir(), stem, ".pb.gz", write)
	}
	if err != nil {
		r.complain(fmt.Errorf("save recording in another folder: %w", err))
		return errNothing
	}
	fmt.Fprintf(r.stderr, "  The recording was saved as %s\n", text.Message(path))
	return errPart
}

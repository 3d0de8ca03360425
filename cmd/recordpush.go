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
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/push"
	"github.com/fpstack/fpstack/push/perprocess"
	"github.com/fpstack/fpstack/text"
)

// pushFor is how long a recording is offered to a store that does not take it.
const pushFor = 30 * time.Second

// pushing is what a recording has to do with stores.
type pushing struct {
	outlets *outlets             // nil: it is not sent
	who     *perprocess.Notebook // processes that may have ended when it is sent
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
	r.outlets, r.who = opened, perprocess.NewNotebook("/proc")
	for _, e := range odd {
		r.complain(e)
	}
	return nil
}

// note keeps who a process is, while that can be read.
func (p *pushing) note(pid int) {
	if p.outlets != nil {
		p.who.Note(pid)
	}
}

// renote reads again who the processes are until ctx ends.
func (p *pushing) renote(ctx context.Context) {
	if p.outlets != nil {
		p.who.Renew(ctx)
	}
}

// send sends p to each store. What a store does not take is kept in a file.
func (r *recording) send(p *profile.Profile) error {
	if r.outlets == nil || len(p.Samples) == 0 {
		return nil
	}
	recorded, failed := r.o.recorded(p, r.who.Identity)
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

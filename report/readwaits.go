package report

import (
	"errors"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// wait reads what a thread waits for.
func (in *dumpReader) wait() (*profile.Wait, error) {
	var doc *waitDoc
	if err := in.Decode(&doc); err != nil || doc == nil {
		return nil, err
	}
	if doc.Left < 0 || doc.Length < 0 || doc.Lost < 0 {
		return nil, errors.New("left_ns or lost_owner of a wait is below 0")
	}
	var err error
	w := &profile.Wait{Text: in.text(doc.Text, &err), Brief: in.text(doc.Brief, &err),
		Kind: in.text(doc.Kind, &err), Name: in.text(doc.Name, &err),
		Addr: optional(doc.Address, &err), With: optional(doc.With, &err),
		Mode: profile.WaitMode(in.text(doc.Mode, &err)),
		Sort: profile.WaitSort(in.text(doc.Sort, &err)), Peer: in.text(doc.Peer, &err),
		Certainty: in.text(doc.Certainty, &err),
		Timed:     doc.Timed, Left: time.Duration(doc.Left), Length: time.Duration(doc.Length), Lost: doc.Lost,
		Forked: doc.Forked, Listens: doc.Listens,
		Made:     doc.Made,
		Children: doc.Children, Handled: doc.Handled, Alarm: doc.Alarm,
		Evidence: in.texts(doc.Evidence, &err)}
	w.Wakers = wakersOf(doc.Wakers)
	for _, p := range doc.Set {
		w.Set = append(w.Set, profile.WaitPart{FD: p.FD, Sort: profile.WaitSort(in.text(p.Sort, &err)),
			Name: in.text(p.Name, &err), Peer: in.text(p.Peer, &err), Listens: p.Listens, Own: p.Own,
			Made: p.Made, Wakers: wakersOf(p.Wakers)})
	}
	return w, err
}

func wakersOf(docs []wakerDoc) (all []profile.Waker) {
	for _, to := range docs {
		all = append(all, profile.Waker(to))
	}
	return all
}

// waits reads what concerns several threads.
func (in *dumpReader) waits() error {
	var doc *waitsDoc
	if err := in.Decode(&doc); err != nil || doc == nil {
		return err
	}
	var err error
	w := &profile.Waits{Waiting: doc.Waiting, Owned: doc.Owned}
	if w.Waiting < 0 || w.Owned < 0 {
		return errors.New("a number of waits is below 0")
	}
	for _, c := range doc.Cycles {
		if c.Stood < 0 {
			return errors.New("stood_ns of a cycle is below 0")
		}
		w.Cycles = append(w.Cycles, profile.WaitCycle{Kind: profile.CycleKind(in.text(c.Kind, &err)),
			Text:    in.text(c.Text, &err),
			Threads: c.Threads, Lines: in.texts(c.Lines, &err), Stood: time.Duration(c.Stood), Behind: c.Behind})
	}
	for _, r := range doc.Roots {
		w.Roots = append(w.Roots, profile.WaitRoot{Waker: profile.Waker(r.wakerDoc), Text: in.text(r.Text, &err),
			Behind: r.Behind, Certainty: in.text(r.Certainty, &err)})
	}
	in.dump.Waits = w
	return err
}

//go:build linux

package tracer

import (
	"errors"
	"fmt"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// wantTime bounds how long all Wanters together, with the copies they ask for, hold the
// threads of one stop.
const wantTime = 25 * time.Millisecond

// asking is what the Wanters brought. The copier fills it.
type asking struct {
	ranges   []mem.Range
	problems []string
}

// askWanters lets the Wanters say what to copy, on the copier: the threads are released
// in time, whatever they do.
func (s *stop) askWanters(from int) {
	view := s.view(from)
	brought := new(asking)
	m, wanters := s.memory, s.opt.Wanters
	switch err := s.copier.do(func() { brought.ask(view, m, wanters) }, min(wantTime, s.opt.MaxPause)); {
	case errors.Is(err, errNotInTime):
		s.problem(fmt.Sprintf("memory that runtimes asked for was not copied within %v", wantTime))
		return
	case err != nil: // what came before is kept
		s.problem(err.Error())
	}
	s.further = append(s.further, brought.ranges...)
	for _, p := range brought.problems {
		s.problem(p)
	}
}

// view is the snapshot as it is during the stop, with nothing in it that the stop changes
// later.
func (s *stop) view(from int) *snapshot.Snapshot {
	v := &snapshot.Snapshot{Process: snapshot.Process{PID: s.p.pid}, Host: s.p.host, Maps: s.table}
	v.Memory = append(v.Memory, s.further...)
	for i := from; i < len(s.threads); i++ {
		if t := &s.threads[i]; t.phase == stopped && t.regs.Arch != nil {
			v.Threads = append(v.Threads, t.describe())
		}
	}
	return v
}

func (a *asking) ask(view *snapshot.Snapshot, m *memory, wanters []Wanter) {
	room, bytes := MaxRanges, MaxWanted
	for round := range MaxRounds {
		var wants [][]Range
		for _, w := range wanters {
			if want := a.want(w, view, round); len(want) > 0 {
				wants = append(wants, want)
			}
		}
		if len(wants) == 0 {
			return
		}
		ranges, cut := divide(wants, view.Memory, room, bytes)
		if cut {
			a.problems = append(a.problems, "runtimes asked for more memory than a stop may copy")
		}
		for _, r := range a.copy(m, ranges) {
			room--
			bytes -= len(r.Data)
			view.Memory = append(view.Memory, r)
			a.ranges = append(a.ranges, r)
		}
	}
}

// want asks one Wanter. A fault in it costs what it asked for, not the stop.
func (a *asking) want(w Wanter, view *snapshot.Snapshot, round int) (want []Range) {
	if err := guard(func() { want = w.Want(view, round) }); err != nil {
		a.problems = append(a.problems, fmt.Sprintf("%T: %v", w, err))
		return nil
	}
	return want
}

// copy reads ranges with as few calls as can be, and returns what was mapped of them.
func (a *asking) copy(m *memory, ranges []Range) []mem.Range {
	if len(ranges) == 0 {
		return nil
	}
	total := 0
	for _, r := range ranges {
		total += r.Len
	}
	room := arena{rest: make([]byte, total)}
	pieces := make([]piece, len(ranges))
	for i, r := range ranges {
		pieces[i] = piece{addr: r.Addr, data: room.take(r.Len)}
	}
	if err := newVector(len(pieces)).read(m.tid, pieces); err != nil {
		readEach(m, pieces)
	}
	var out []mem.Range
	for i := range pieces {
		if pieces[i].got > 0 {
			out = append(out, rangeOf(&pieces[i]))
		}
	}
	return out
}

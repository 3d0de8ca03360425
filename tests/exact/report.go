package exact

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/unwind"
)

// Causes of misses that are known and explained; every other miss is [Unexplained].
const (
	// InJump is a stack that is being left for another place: longjmp, an exception that
	// lands, a switch of stacks. Tables describe the target there, on purpose.
	InJump = "jump in progress"
	// StartCode is a walk that is right so far and lacks only the outermost frames: those of
	// start code that has no tables, or that Go marks as the top of its stacks.
	StartCode = "start code"
	// ChangedContext is a handler that has changed the saved registers: the place where its
	// return will lead is no longer the one that was interrupted.
	ChangedContext = "handler changed the context"
	// Thunk is a return thunk or retpoline, whose inner call leaves a word that is no frame.
	Thunk = "thunk"
	// GoSwitch is a switch between a goroutine's stack and that of its thread.
	GoSwitch = "stack switch of Go"
	// BegunLate is a walk that has all frames that the truth knows, and more: it knows no more of a stack that was used
	// before a thread came there.
	BegunLate = "truth begins there"
	// NotKnown is a walk from PC and SP alone that is right so far and ends where a table's CFA
	// rests on a register that nothing tells.
	NotKnown = "register not known"
	// Unexplained is a miss without a name.
	Unexplained = "unexplained"
)

// Miss is a point at which the walked stack is not the true one.
type Miss struct {
	Step   uint64 // instructions that the thread had run
	TID    int
	PC, SP uint64
	Symbol string // function and offset, or module and offset
	Cause  string
	Code   []byte // at PC
	Truth  []uint64
	Walked []unwind.Frame
	Stop   unwind.Stop
	Err    error
	names  []string // of Truth, then of Walked
}

// Report is what a Run found.
type Report struct {
	Steps  uint64 // instructions that ran
	Points int    // compared
	Exact  int
	// Ahead counts the points in a jump at which the walk gave the stack that the jump led to,
	// proved at its landing: as right as the one being left.
	Ahead   int
	ByCause map[string]int      // misses
	Stops   map[unwind.Stop]int // how the walks ended, all points
	Origins map[unwind.Origin]int
	// Misses holds the first misses of each symbol and cause, as many as Options.Keep says.
	Misses  []Miss
	Odd     int // returns elsewhere than the call came from
	Signals int // handlers entered
	Below   int // points of Options.Below
	Threads int
	Status  string // how the program ended
	Peer    PeerReport
	perSite map[string]int
}

// PeerReport is what a peer gave: points at which it was run, and those at which all its
// addresses were the true ones.
type PeerReport struct {
	Points, Exact int
	BySite        map[string]int // misses by function
}

// Fraction is the share of exact points, those ahead among them, of all whose truth does not end before the walk, 1 if
// there were none.
func (r *Report) Fraction() float64 {
	whole := r.Points - r.ByCause[BegunLate]
	if whole == 0 {
		return 1
	}
	return float64(r.Exact+r.Ahead) / float64(whole)
}

// Missed counts the misses of other causes than those given.
func (r *Report) Missed(allowed ...string) int {
	n := 0
	for cause, count := range r.ByCause {
		if !slices.Contains(allowed, cause) {
			n += count
		}
	}
	return n
}

// Print prints the report with its misses for a developer, first those that nothing explains.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "steps %d points %d exact %d ahead %d fraction %.6f threads %d signals %d odd returns %d %s\n",
		r.Steps, r.Points, r.Exact, r.Ahead, r.Fraction(), r.Threads, r.Signals, r.Odd, r.Status)
	if r.Below > 0 {
		fmt.Fprintf(w, "  %8d  points below the function asked for\n", r.Below)
	}
	for _, c := range slices.Sorted(maps.Keys(r.ByCause)) {
		fmt.Fprintf(w, "  %8d  %s\n", r.ByCause[c], c)
	}
	for _, s := range slices.Sorted(maps.Keys(r.Stops)) {
		fmt.Fprintf(w, "  %8d  ends: %v\n", r.Stops[s], s)
	}
	for _, o := range slices.Sorted(maps.Keys(r.Origins)) {
		fmt.Fprintf(w, "  %8d  frames by %v\n", r.Origins[o], o)
	}
	r.printMisses(w, true)
	fmt.Fprintln(w)
	for _, s := range slices.Sorted(maps.Keys(r.perSite)) {
		fmt.Fprintf(w, "  %8d  at %s\n", r.perSite[s], s)
	}
	if p := &r.Peer; p.Points > 0 {
		fmt.Fprintf(w, "  peer: %d of %d exact, %.6f\n", p.Exact, p.Points, float64(p.Exact)/float64(p.Points))
		for _, s := range slices.Sorted(maps.Keys(p.BySite)) {
			fmt.Fprintf(w, "  %8d  peer at %s\n", p.BySite[s], s)
		}
	}
	r.printMisses(w, false)
}

// printMisses prints those misses that nothing explains, or all others.
func (r *Report) printMisses(w io.Writer, unexplained bool) {
	for i := range r.Misses {
		if m := &r.Misses[i]; (m.Cause == Unexplained) == unexplained {
			m.print(w)
		}
	}
}

func (m *Miss) print(w io.Writer) {
	fmt.Fprintf(w, "\nmiss at step %d, thread %d, pc %#x sp %#x %s: %s; walk ends: %v",
		m.Step, m.TID, m.PC, m.SP, m.Symbol, m.Cause, m.Stop)
	if m.Err != nil {
		fmt.Fprintf(w, " (%v)", m.Err)
	}
	fmt.Fprintf(w, "\n  code % x\n", m.Code)
	for i := range max(len(m.Truth), len(m.Walked)) {
		truth, walked, mark := "", "", "  "
		if i < len(m.Truth) {
			truth = fmt.Sprintf("%#x %s", m.Truth[i], m.names[i])
		}
		if i < len(m.Walked) {
			f := m.Walked[i]
			walked = fmt.Sprintf("%#x %s [%v cfa %#x%s]", uint64(f.PC), m.names[len(m.Truth)+i], f.Origin,
				uint64(f.CFA), strings.TrimRight(" "+f.Note, " "))
		}
		if i >= len(m.Truth) || i >= len(m.Walked) || m.Truth[i] != uint64(m.Walked[i].PC) {
			mark = "! "
		}
		fmt.Fprintf(w, "  %s#%-3d %-60s | %s\n", mark, i, truth, walked)
	}
}

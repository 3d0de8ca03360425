package check

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// Thread says how far frame pointers alone lead on one thread, or on several alike.
type Thread struct {
	TIDs  []int
	Names []string // of the same threads, as the kernel has them
	// NotWalked says why there are no frames; "" if there are.
	NotWalked  string
	Frames     int    // of the full walk
	Stop       string // why the full walk ended early, "" if it reached the outermost frame
	Reached    int    // of those frames, how many the bare chain has too
	Breaks     []Break
	MoreBreaks int // left out of Breaks
}

// Effect says what becomes of a chain of frame pointers in a function that keeps none.
type Effect uint8

// The effects.
const (
	Skips  Effect = iota // the caller of the frame is left out, the chain goes on behind it
	Ends                 // the chain ends
	Astray               // it goes on to where nobody called from
)

var effectNames = [...]string{"skips", "ends", "astray"}

func (e Effect) String() string { return effectNames[e] }

// Break is a frame in which the bare chain loses what the full walk has.
type Break struct {
	Frame    int    // its number, innermost 0
	Function string // "" if it has no name
	Module   string // path, "" for code that no file holds
	Effect   Effect
	Lost     int // frames of the full walk that are lost by it
	Reason   string
	Fix      string // "" if nothing can be done
	Signal   bool   // it is the trampoline of a signal
	// Also are the functions among the lost frames that keep no frame record either: they are to be
	// fixed too. A few, each once.
	Also []Culprit
}

// Culprit is a function that keeps no frame record.
type Culprit struct {
	Function, Module string // as in Break
	Frames           int    // how many of the lost frames are its own
	Fix              string
}

// Namer names physical frames and says where their functions lie.
type Namer interface {
	// Frames returns for each frame its logical frames, the function itself last.
	Frames([]unwind.Frame) [][]profile.Frame
	// Bounds returns the function of m that holds v, [start, end), or false.
	Bounds(m *module.Module, v module.Vaddr) (start, end module.Vaddr, ok bool)
}

// Bounds of what is reported of one thread.
const (
	maxBreaks   = 8
	maxCulprits = 8       // of one break
	maxJudged   = 1 << 12 // frames whose functions are read for that
)

// Threads compares the stacks of a snapshot's threads with those that frame pointers alone give;
// full[i] and bare[i] belong to snap.Threads[i]. Threads alike are put together. of gives what is
// known of a module, nil for one that was not looked at.
func Threads(snap *snapshot.Snapshot, full, bare []unwind.Stack, names Namer,
	of func(*module.Module) *Module) []Thread {
	var out []Thread
	known := map[string]int{}
	x := &explainer{names: names, of: of, judged: map[functionKey]verdict{}}
	for i := range snap.Threads {
		t := compare(&full[i], &bare[i])
		x.explain(&t, full[i].Frames)
		key := likeness(&t)
		at, ok := known[key]
		if !ok {
			at = len(out)
			known[key] = at
			out = append(out, t)
		}
		out[at].TIDs = append(out[at].TIDs, snap.Threads[i].TID)
		out[at].Names = append(out[at].Names, snap.Threads[i].Comm)
	}
	return out
}

// addresses are what differs between threads alike. Compiled when first asked for: a dump never asks.
var addresses = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`0x[0-9a-f]+|thread [0-9]+`) })

// likeness is the same for threads with the same findings.
func likeness(t *Thread) string {
	all := fmt.Sprintf("%q %d %q %d %+v %d", t.NotWalked, t.Frames, t.Stop, t.Reached, t.Breaks, t.MoreBreaks)
	return addresses().ReplaceAllString(all, "")
}

// compare follows the bare chain along the full walk.
func compare(full, bare *unwind.Stack) Thread {
	t := Thread{Frames: len(full.Frames)}
	if len(full.Frames) == 0 {
		t.NotWalked = full.Stop.String()
		if full.Err != nil {
			t.NotWalked = full.Err.Error()
		}
		return t
	}
	if full.Stop != unwind.Root {
		t.Stop = full.Stop.String()
		if full.Err != nil {
			t.Stop += ": " + full.Err.Error()
		}
	}
	t.Reached = 1 // both begin with the registers
	at := 0
	for _, b := range bare.Frames[1:] {
		next := same(full.Frames, at+1, &b)
		if next < 0 {
			t.astray(full, at, &b)
			return t
		}
		for lost := at; lost < next-1; lost++ {
			t.add(Break{Frame: lost, Effect: Skips, Lost: 1})
		}
		at = next
		t.Reached++
	}
	if lost := len(full.Frames) - 1 - at; lost > 0 {
		t.add(Break{Frame: at, Effect: Ends, Lost: lost, Reason: endReason(bare)})
	}
	return t
}

// astray adds the break where the chain goes to a frame that the full walk has not. Where that ended
// early, the chain may know more than it.
func (t *Thread) astray(full *unwind.Stack, at int, b *unwind.Frame) {
	lost := len(full.Frames) - 1 - at
	if lost == 0 {
		return
	}
	t.add(Break{Frame: at, Effect: Astray, Lost: lost,
		Reason: fmt.Sprintf("the frame pointer leads to %#x, which is no frame of the stack", uint64(b.PC))})
}

func (t *Thread) add(b Break) {
	if len(t.Breaks) == maxBreaks {
		t.MoreBreaks++
		return
	}
	t.Breaks = append(t.Breaks, b)
}

func endReason(bare *unwind.Stack) string {
	switch {
	case bare.Err != nil:
		return bare.Err.Error()
	case bare.Stop == unwind.Root:
		return "the frame pointer is 0"
	}
	return bare.Stop.String()
}

// same finds the frame of the full walk, from number at on, that b is: by its place on the stack
// and its PC. A function that realigned its stack has a copy of its return address in another place:
// then the PC alone decides.
func same(full []unwind.Frame, at int, b *unwind.Frame) int {
	byPC := -1
	for i := at; i < len(full); i++ {
		if full[i].PC != b.PC {
			continue
		}
		if full[i].SP == b.SP {
			return i
		}
		if byPC < 0 {
			byPC = i
			full = full[:min(len(full), i+window)]
		}
	}
	return byPC
}

// window bounds the search for a better match than one by PC alone, frames: with deep recursion each
// of them has the same PC.
const window = 64

package coreclr

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
)

// seenFrame is what is shown of one frame.
type seenFrame struct {
	pc, sp    mem.Addr
	name, raw string
	place     string
	marked    bool
	// below: sp is where a frame record ends, which on arm64 lies anywhere in the frame before.
	below bool
}

type seenStack struct {
	frames []seenFrame
	stop   unwind.Stop
}

// seen walks and names the threads of a recorded snapshot; edit says what is left of what was copied of each, and live
// has the rest. It returns what the runtime misses, too.
func seen(t *testing.T, shot *snapshot.Snapshot, want *told, edit func([]mem.Range) []mem.Range,
	live mem.Reader) ([]seenStack, error) {
	t.Helper()
	image := module.Image{Memory: live, Mapping: func(*maps.Mapping) (*module.File, error) {
		return nil, errors.New("no file is here")
	}}
	w, r := walkerIn(t, shot, want, image)
	if r == nil {
		return nil, memory.ErrPlanted
	}
	var out []seenStack
	for i := range shot.Threads {
		th := &shot.Threads[i]
		m := shot.Over(live, append([]mem.Range{th.Stack}, edit(th.Copied)...)...)
		s := w.Walk(th, m, unwind.Options{})
		one := seenStack{stop: s.Stop}
		for k := range s.Frames {
			f := &s.Frames[k]
			x := seenFrame{pc: f.PC, sp: f.SP, marked: f.Note != "" || f.Unsure || f.Gap}
			x.below = th.Arch == regs.ARM64 && f.Origin == unwind.FramePointer
			for _, p := range r.Frames(f.Site) {
				x.name, x.raw, x.place = p.Func, p.Linkage, fmt.Sprint(p.File, p.Line)
				x.marked = x.marked || p.Note != ""
			}
			one.frames = append(one.frames, x)
		}
		out = append(out, one)
	}
	return out, r.sections.Load().err
}

// arguments are what may be missing in a name.
var arguments = regexp.MustCompile(`[<\[].*`)

// less says what is wrong with got, of a thread of which want is all: "" if it is the same, or less and marked.
func (want seenStack) less(got seenStack, missing error) string {
	marked, same, at := missing != nil, true, 0
	for k, f := range got.frames {
		i := slices.IndexFunc(want.frames[at:], func(w seenFrame) bool {
			return w.pc == f.pc && (w.sp == f.sp || f.below && f.sp < w.sp)
		})
		if i < 0 {
			return fmt.Sprintf("frame %d, %#x %q, is none of the stack", k, uint64(f.pc), f.name)
		}
		w := want.frames[at+i]
		at += i + 1
		same = same && i == 0 && f.name == w.name && f.raw == w.raw && f.place == w.place
		marked = marked || f.marked && !w.marked
		switch {
		case f.name == w.name && f.raw == w.raw:
		case !f.marked && missing == nil:
			return fmt.Sprintf("frame %d is %q, and not marked, want %q", k, f.name, w.name)
		case f.name != "" && f.name[0] != '[' && !sameButArguments(f.name, w.name):
			return fmt.Sprintf("frame %d is %q, want %q", k, f.name, w.name)
		}
	}
	switch {
	case !same && !marked:
		return fmt.Sprintf("%d of %d frames, and no mark", len(got.frames), len(want.frames))
	case at < len(want.frames) && got.stop == unwind.Root:
		return fmt.Sprintf("%d of %d frames, as if that were all", len(got.frames), len(want.frames))
	}
	return ""
}

func sameButArguments(a, b string) bool {
	return arguments.ReplaceAllString(a, "") == arguments.ReplaceAllString(b, "")
}

// TestEveryReadFails: with any single read of the process failing, and with any range that was copied missing, or its
// second half, stacks are what they are with all of them, or less and marked: no frame has another name.
func TestEveryReadFails(t *testing.T) {
	files, err := filepath.Glob(recorded)
	if err != nil || len(files) == 0 {
		t.Fatalf("no snapshots: %v", err)
	}
	for _, file := range files {
		t.Run(recordedName(file), func(t *testing.T) {
			want := readTold(t, strings.TrimSuffix(file, ".snapshot")+".txt")
			shot := recordedShot(t, file)
			whole := func(r []mem.Range) []mem.Range { return r }
			live := &memory.Failing{Reader: mem.NewOverlay(nil, shot.Memory...)}
			all, err := seen(t, shot, &want, whole, live)
			if err != nil || len(all) == 0 {
				t.Fatal(err)
			}
			check := func(what string, got []seenStack, err error) {
				for i := range got {
					if wrong := all[i].less(got[i], err); wrong != "" {
						t.Errorf("%s: thread %d: %s", what, shot.Threads[i].TID, wrong)
					}
				}
			}
			memory.EachRead(live.Reader, live.N, 60, func(what string, m *memory.Failing) {
				got, err := seen(t, shot, &want, whole, m)
				check(what, got, err)
			})
			ranges := 0
			for i := range shot.Threads {
				ranges = max(ranges, len(shot.Threads[i].Copied))
			}
			memory.EachCut(ranges, 20, func(what string, edit func([]mem.Range) []mem.Range) {
				got, err := seen(t, shot, &want, edit, live.Reader)
				check(what, got, err)
			})
			t.Logf("%d reads, %d ranges", live.N, ranges)
		})
	}
}

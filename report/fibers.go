package report

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// fibers writes the fibers of the dump: those with the same stack and state together, in the order of their first, but
// with Group those that wait for a lock or for nobody before the others. Those that the runtime made for itself are
// counted, and shown if Verbose.
func (p *printer) fibers() {
	var order []string
	groups := map[string][]*profile.Fiber{}
	system := map[string]int{}
	for i := range p.dump.Fibers {
		f := &p.dump.Fibers[i]
		if f.System && !p.opt.Verbose {
			system[f.Kind]++
			continue
		}
		key := p.fiberKey(i)
		if _, ok := groups[key]; !ok {
			order = append(order, key)
		}
		groups[key] = append(groups[key], f)
	}
	if p.opt.Group {
		stuck := func(key string) int {
			if w := groups[key][0].Wait; w == profile.FiberLock || w == profile.FiberNobody {
				return 0
			}
			return 1
		}
		slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(stuck(a), stuck(b)) })
	}
	for _, key := range order {
		p.fiberGroup(groups[key])
	}
	for _, kind := range kinds(p.dump) {
		if n := system[kind]; n > 0 {
			p.line(text.Wrap(counted(n, text.Escape(kind))+" of the runtime itself (-v shows them)", p.width(), 4))
		}
	}
}

// kinds lists the kinds of fibers in the order of their first.
func kinds(d *profile.Dump) []string {
	var list []string
	seen := map[string]bool{}
	for i := range d.Fibers {
		if k := d.Fibers[i].Kind; !seen[k] {
			seen[k] = true
			list = append(list, k)
		}
	}
	return list
}

// fiberCounts are the pieces of the heading that count fibers.
func fiberCounts(d *profile.Dump) []string {
	var pieces []string
	for _, kind := range kinds(d) {
		n := 0
		for i := range d.Fibers {
			if d.Fibers[i].Kind == kind {
				n++
			}
		}
		pieces = append(pieces, counted(n, text.Escape(kind)))
	}
	return pieces
}

// fiberKey is equal for two fibers exactly if they may be shown as one. How long they wait may differ: the heading
// says so.
func (p *printer) fiberKey(i int) string {
	f := &p.dump.Fibers[i]
	key := make([]byte, 0, 64)
	if !p.opt.Group || len(f.Locals) > 0 {
		key = binary.LittleEndian.AppendUint64(key, uint64(i))
	}
	key = binary.LittleEndian.AppendUint64(key, uint64(f.Stack))
	key = binary.LittleEndian.AppendUint64(key, uint64(f.TID))
	by := f.AwaitedBy
	if f.Name == "" {
		by = p.awaiters(f)
	}
	return string(key) + fmt.Sprint(f.Locked, f.System, by, f.LoopTID) + f.Kind + "\x00" + f.State + "\x00" +
		f.Missing
}

// maxAwaiting bounds how far those that wait for a fiber, and for those, are told from others.
const maxAwaiting = 64

// awaiters are what those that wait for f are alike by: numbers of their own, of those of which nobody knows a name.
// Two that are alike are shown as one.
func (p *printer) awaiters(f *profile.Fiber) []uint64 {
	x := p.allFibers()
	if x.depth++; x.depth > maxAwaiting {
		x.depth--
		return f.AwaitedBy
	}
	by := make([]uint64, 0, len(f.AwaitedBy))
	for _, id := range f.AwaitedBy {
		alike, known := x.alike[id]
		if i, ok := x.at[id]; ok && !known {
			key := p.fiberKey(i)
			if alike, known = x.groups[key]; !known {
				alike = uint64(len(x.groups))
				x.groups[key] = alike
			}
			x.alike[id] = alike
		}
		by = append(by, alike)
	}
	x.depth--
	slices.Sort(by)
	return by
}

// fiberGroup writes fibers with the same stack.
func (p *printer) fiberGroup(fibers []*profile.Fiber) {
	f := fibers[0]
	who := text.Escape(f.Kind) + " "
	if len(fibers) > 1 {
		who = fmt.Sprintf("%d %ss ", len(fibers), text.Escape(f.Kind))
	}
	p.wrapped(Thread, who+p.fiberIDs(fibers), " ["+p.fiberState(fibers)+"]:", "")
	s := p.fiberStack(f)
	switch {
	case f.Missing != "":
		p.cutLine("no stack: " + text.Escape(f.Missing))
	case f.TID != 0 && len(s.Stack.Frames) == 0:
		p.line(fmt.Sprintf("  on thread %d, whose stack is above", f.TID))
	default:
		p.frames(p.opt.shownInText(&s.Stack, p.dump.Modules), f.Locals)
		if !s.Stack.Complete {
			p.cutLine("stack cut: " + cutReason(&s.Stack))
		}
	}
	p.createdBy(fibers, s)
	p.awaitedBy(fibers)
}

// awaitedBy writes which fibers wait for those of a group to end: "  awaited by task "main"".
func (p *printer) awaitedBy(fibers []*profile.Fiber) {
	f := fibers[0]
	if len(f.AwaitedBy) == 0 {
		return
	}
	if f.Name == "" {
		var all []uint64
		for _, f := range fibers {
			all = append(all, f.AwaitedBy...)
		}
		slices.Sort(all)
		all = slices.Compact(all)
		who := text.Plural(len(all), text.Escape(p.kindOf(all[0], f.Kind))) + " " + p.ranges(all)
		if len(all) > 1 {
			who = strconv.Itoa(len(all)) + " " + who
		}
		p.line(text.Wrap("  awaited by "+who, p.width(), 4))
		return
	}
	names := make([]string, 0, len(f.AwaitedBy))
	for _, id := range f.AwaitedBy {
		if name, ok := p.allFibers().names[id]; ok {
			names = append(names, name)
		} else {
			names = append(names, fiberName(f.Kind, id, ""))
		}
	}
	p.line(text.Wrap("  awaited by "+p.few(names), p.width(), 4))
}

// kindOf is the kind of the fiber with that id, usual where the dump does not have it.
func (p *printer) kindOf(id uint64, usual string) string {
	i, ok := p.allFibers().at[id]
	if !ok {
		return usual
	}
	return p.dump.Fibers[i].Kind
}

// fiberName is what one fiber is called: goroutine 34, task "main".
func fiberName(kind string, id uint64, name string) string {
	if name != "" {
		return text.Escape(kind) + " " + text.Quote(name)
	}
	return text.Escape(kind) + " " + strconv.FormatUint(id, 10)
}

// few is the first of the names, with how many there are more.
func (p *printer) few(names []string) string {
	if len(names) > maxNames && !p.opt.Verbose {
		return strings.Join(names[:maxNames], ", ") + fmt.Sprintf(", … %d more", len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}

// fiberStack is the stack of f, an empty one if the dump has none.
func (p *printer) fiberStack(f *profile.Fiber) *profile.FiberStack {
	if f.Stack < 0 || f.Stack >= len(p.dump.FiberStacks) {
		return &profile.FiberStack{}
	}
	return &p.dump.FiberStacks[f.Stack]
}

// fiberState is what a traceback of Go has in brackets: the state, how long, what else holds. Of a group the times
// are "3 to 5 minutes", or "up to 5 minutes" if it is less than one, or unknown, of some.
func (p *printer) fiberState(fibers []*profile.Fiber) string {
	f := fibers[0]
	state := text.Escape(f.State)
	least, most := f.Waits, f.Waits
	for _, other := range fibers {
		least, most = min(least, other.Waits), max(most, other.Waits)
	}
	switch low, high := int64(least/time.Minute), int64(most/time.Minute); {
	case high < 1:
	case low < 1: // how long may not be known of some
		state += fmt.Sprintf(", up to %d minutes", high)
	case low == high:
		state += fmt.Sprintf(", %d minutes", high)
	default:
		state += fmt.Sprintf(", %d to %d minutes", low, high)
	}
	if f.Locked {
		state += ", locked to thread"
	}
	if f.LoopTID != 0 && len(p.allFibers().loops) > 1 {
		state += fmt.Sprintf(", loop of thread %d", f.LoopTID)
	}
	return state
}

// fiberIndex is what is known of all fibers of a dump.
type fiberIndex struct {
	names map[uint64]string
	loops map[int]bool // threads whose event loops run them

	at     map[uint64]int    // in the dump
	alike  map[uint64]uint64 // by id: equal for those that are shown as one
	groups map[string]uint64 // numbers of those, by their keys
	depth  int
}

func (p *printer) allFibers() *fiberIndex {
	if p.index == nil {
		p.index = &fiberIndex{names: map[uint64]string{}, loops: map[int]bool{}, at: map[uint64]int{},
			alike: map[uint64]uint64{}, groups: map[string]uint64{}}
		for i := range p.dump.Fibers {
			f := &p.dump.Fibers[i]
			p.index.at[f.ID] = i
			p.index.names[f.ID] = fiberName(f.Kind, f.ID, f.Name)
			if f.LoopTID != 0 {
				p.index.loops[f.LoopTID] = true
			}
		}
	}
	return p.index
}

// fiberIDs returns the ids with runs as ranges: "34-10033,10040"; or the names, where they have some.
func (p *printer) fiberIDs(fibers []*profile.Fiber) string {
	if fibers[0].Name != "" {
		names := make([]string, len(fibers))
		for i, f := range fibers {
			names[i] = text.Quote(f.Name)
		}
		return p.few(names)
	}
	ids := make([]uint64, len(fibers))
	for i, f := range fibers {
		ids[i] = f.ID
	}
	return p.ranges(ids)
}

// createdBy writes what created the fibers: "created by main.main in goroutine 1  main.go:33".
func (p *printer) createdBy(fibers []*profile.Fiber, s *profile.FiberStack) {
	if len(s.CreatedBy) == 0 {
		return
	}
	f := &s.CreatedBy[0]
	name := text.Escape(cmp.Or(f.Func, unnamed))
	line := "  created by " + p.style(Function, name)
	creators := map[uint64]bool{}
	for _, f := range fibers {
		creators[f.Creator] = true
	}
	if id := fibers[0].Creator; len(creators) == 1 && id != 0 {
		line += fmt.Sprintf(" in %s %d", text.Escape(fibers[0].Kind), id)
	} else if len(creators) > 1 {
		line += fmt.Sprintf(" in %d %ss", len(creators), text.Escape(fibers[0].Kind))
	}
	if file, at := p.sourceText(f); file != "" {
		line += "  " + p.style(Source, file+at)
	}
	p.line(line)
}

// runs says which fibers threads run: "  goroutine 34".
func (p *printer) runs(threads []*profile.Thread) string {
	var ids []string
	for _, t := range threads {
		if t.Fiber != nil {
			ids = append(ids, fiberName(t.Fiber.Kind, t.Fiber.ID, t.Fiber.Name))
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return "  " + p.few(ids)
}

// idle counts threads that wait for work to come: "+ 11 idle threads (7 V8 workers, 4 libuv pool)".
func (p *printer) idle(threads []*profile.Thread) {
	if len(threads) == 0 {
		return
	}
	parts := split(threads, (*profile.Thread).IdleKind)
	kinds := make([]string, len(parts))
	for i, part := range parts {
		kinds[i] = fmt.Sprintf("%d %s", len(part.threads), text.Escape(part.text))
	}
	p.wrapped(Thread, "+ "+counted(len(threads), "idle thread"), " ("+strings.Join(kinds, ", ")+")", "")
}

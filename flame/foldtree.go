package flame

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// foldTree is stacks as folded text shows them: frames that are shown the same are one.
type foldTree struct {
	names  []string // of frames
	ids    map[string]profile.FrameID
	tree   profile.Tree
	place  []profile.NodeID // by sample of the profile
	values []int64          // by node
}

// newFoldTree places the samples of p. All values are 0.
func newFoldTree(p *profile.Profile, opt FoldedOptions) *foldTree {
	t := &foldTree{ids: map[string]profile.FrameID{}, place: make([]profile.NodeID, len(p.Samples))}
	frames := make([]profile.FrameID, len(p.Frames))
	marked := hasKernelWaits(p)
	for f := range p.Frames {
		name := foldedName(p.Name(profile.FrameID(f)))
		if marked && p.Frames[f].Kind == profile.Kernel {
			name += kernelMark
		}
		frames[f] = t.frame(name)
	}
	if opt.Threads {
		t.placeByTask(p, frames)
	} else {
		t.placeAll(p, frames)
	}
	t.values = make([]int64, t.tree.Len())
	return t
}

// kernelMark is behind the names of the kernel's frames, where there are more of waits than the system call.
// Source: stackcollapse-perf.pl --kernel.
const kernelMark = "_[k]"

// hasKernelWaits reports whether p has where in the kernel threads wait, as record --kernel shows it.
func hasKernelWaits(p *profile.Profile) bool {
	waits := func(n profile.NodeID) bool { return n != 0 && p.Frames[p.Tree.Frame(n)].Waits() }
	for n := profile.NodeID(1); int(n) < p.Tree.Len(); n++ {
		if waits(n) && waits(p.Tree.Parent(n)) {
			return true
		}
	}
	return false
}

func (t *foldTree) frame(name string) profile.FrameID {
	id, ok := t.ids[name]
	if !ok {
		id = profile.FrameID(len(t.names))
		t.names = append(t.names, name)
		t.ids[name] = id
	}
	return id
}

func (t *foldTree) placeAll(p *profile.Profile, frames []profile.FrameID) {
	at := t.tree.Graft(&p.Tree, frames)
	for i, s := range p.Samples {
		if t.place[i] = at[s.Stack]; t.place[i] == 0 { // a line needs a frame
			t.place[i] = t.tree.Child(0, t.frame("?"))
		}
	}
}

// placeByTask puts the stacks of each task below two frames for its process and itself.
func (t *foldTree) placeByTask(p *profile.Profile, frames []profile.FrameID) {
	g := profile.NewTaskGraft(&t.tree, &p.Tree, frames,
		func(task int) profile.NodeID { return t.taskRoot(p, task) })
	for _, i := range p.ByTask() {
		t.place[i] = g.Place(p.Samples[i].Stack, p.Samples[i].Task)
	}
}

func (t *foldTree) taskRoot(p *profile.Profile, task int) profile.NodeID {
	var k profile.Task
	if task >= 0 {
		k = p.Tasks[task]
	}
	process := t.tree.Child(0, t.frame(taskName(k.Process)))
	return t.tree.Child(process, t.frame(taskName(k.Thread)))
}

// foldItem is a line, or all lines below a node.
type foldItem struct {
	node profile.NodeID
	line bool
}

// foldLevel is what is left to write below one node.
type foldLevel struct {
	next, end int // in the items
	prefix    int // how much of the line is for this level's callers
}

// write writes all lines in the order of their bytes. Lines below one node all begin alike and
// so are together: it is enough to sort what is below each node.
func (t *foldTree) write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 256<<10)
	child, sibling := t.tree.Links()
	wanted := t.wanted()
	items := t.appendBelow(nil, 0, child, sibling, wanted)
	levels := []foldLevel{{0, len(items), 0}}
	var line []byte
	for len(levels) > 0 {
		top := &levels[len(levels)-1]
		if top.next == top.end {
			levels = levels[:len(levels)-1]
			continue
		}
		item := items[top.next]
		top.next++
		line = append(line[:top.prefix], t.names[t.tree.Frame(item.node)]...)
		if item.line {
			line = append(t.appendValue(line, item.node), '\n')
			if _, err := out.Write(line); err != nil {
				return err
			}
			continue
		}
		line = append(line, ';')
		start := top.end // items behind it belong to levels that are done
		items = t.appendBelow(items[:start], item.node, child, sibling, wanted)
		levels = append(levels, foldLevel{start, len(items), len(line)})
	}
	return out.Flush()
}

// wanted marks the nodes that have a line below them.
func (t *foldTree) wanted() []bool {
	wanted := make([]bool, t.tree.Len())
	for n := profile.NodeID(t.tree.Len() - 1); n > 0; n-- {
		if wanted[n] || t.hasLine(n) {
			wanted[t.tree.Parent(n)] = true
		}
	}
	return wanted
}

func (t *foldTree) hasLine(n profile.NodeID) bool { return t.values[n] != 0 }

// appendBelow appends the lines and groups of lines below n in their order.
func (t *foldTree) appendBelow(items []foldItem, n profile.NodeID, child, sibling []profile.NodeID,
	wanted []bool) []foldItem {
	start := len(items)
	for c := child[n]; c != 0; c = sibling[c] {
		if t.hasLine(c) {
			items = append(items, foldItem{c, true})
		}
		if wanted[c] {
			items = append(items, foldItem{c, false})
		}
	}
	slices.SortFunc(items[start:], t.compare)
	return items
}

// compare orders items as the bytes of their lines are.
func (t *foldTree) compare(a, b foldItem) int {
	left, right := t.names[t.tree.Frame(a.node)], t.names[t.tree.Frame(b.node)]
	n := min(len(left), len(right))
	if c := strings.Compare(left[:n], right[:n]); c != 0 {
		return c
	}
	return strings.Compare(left[n:]+t.tail(a), right[n:]+t.tail(b))
}

// tail is what follows the name of an item.
func (t *foldTree) tail(i foldItem) string {
	if i.line {
		return string(t.appendValue(nil, i.node))
	}
	return ";"
}

func (t *foldTree) appendValue(line []byte, n profile.NodeID) []byte {
	return strconv.AppendInt(append(line, ' '), t.values[n], 10)
}

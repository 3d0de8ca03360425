package page

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// head is the part of the data that the script reads as JSON.
type head struct {
	Version  int      `json:"v"`
	Title    string   `json:"title"`
	Types    []shown  `json:"types"`
	Type     int      `json:"type"`
	Command  string   `json:"command,omitempty"`
	Start    string   `json:"start,omitempty"`    // RFC 3339
	Duration float64  `json:"duration,omitempty"` // seconds
	Period   float64  `json:"period,omitempty"`   // seconds
	Comments []string `json:"comments,omitempty"`
	Tasks    []task   `json:"tasks"`
	Frames   int      `json:"frames"`
	Nodes    int      `json:"nodes"`   // the root included
	Lists    int      `json:"lists"`   // of self values
	Smaller  int      `json:"smaller"` // frames of the call tree left out
	Diff     bool     `json:"diff,omitempty"`
	Inverted bool     `json:"inverted,omitempty"`
	Runs     int      `json:"runs,omitempty"`
	Waits    bool     `json:"waits,omitempty"`  // what waits is shown at first
	Native   bool     `json:"native,omitempty"` // native code is shown at first, whatever calls it
	Sources  bool     `json:"sources,omitempty"`
	Kinds    []int    `json:"kinds"` // those that frames have, for the legend
}

// shown is a value as the switch shows it. Total and Old are sums over everything.
type shown struct {
	Title string `json:"title"`
	Unit  string `json:"unit"`
	Total int64  `json:"total"`
	Old   int64  `json:"old,omitempty"` // scaled
	// Waiting and OldWaiting are the parts of Total and Old that wait.
	Waiting    int64  `json:"waiting,omitempty"`
	OldWaiting int64  `json:"oldWaiting,omitempty"`
	Waited     string `json:"waited"`           // what the switch says of it, behind a share
	Whole      bool   `json:"thread,omitempty"` // times of all threads added up
	// Grain is what one sample of the newer and of the older side weighs, 0 if that is not known: see
	// profile.Diff.Error.
	Grain *[2]float64 `json:"grain,omitempty"`
	Equal string      `json:"equal,omitempty"` // what grey says of a difference
	scale float64     // what Old was multiplied with
}

type task struct {
	PID     int    `json:"pid,omitempty"`
	TID     int    `json:"tid,omitempty"`
	Process string `json:"process,omitempty"`
	Thread  string `json:"thread,omitempty"`
}

func (h *head) note() string {
	return fmt.Sprintf("%s frames too small to be kept are drawn as grey “(n smaller)” frames",
		text.Thousands(h.Smaller))
}

// graph is a profile, or two, as one call tree of shown frames: its frames are indexes of places. When it is finished
// the tree is in preorder.
type graph struct {
	head    head
	places  []place
	tree    profile.Tree
	lists   []list
	runs    []profile.Run // Stack is a node of tree
	listing *listing      // nil for none
	smaller []uint32      // by node: how many frames it stands for, 0 for a frame of its own
}

// list is what one task, or none, got in each node by itself: len(head.Types) values a node.
type list struct {
	task   int // index in head.Tasks, -1 for none
	old    bool
	nodes  []profile.NodeID
	values []int64
}

// side chooses values: those of the older side or of the newer, with what waits or without.
type side struct{ old, waits bool }

// newGraph makes the graph of p, which is the newer side of opt.Diff if there is one.
func newGraph(p *profile.Profile, opt Options) *graph {
	b := &joiner{table: newTable(), tasks: map[task]int{}, threads: opt.Threads, types: len(p.Types)}
	var olds []int64
	if opt.Diff != nil {
		olds = opt.Diff.Old
	}
	b.add(p, olds)
	g := &graph{lists: b.lists, runs: b.runs}
	places, ids := b.table.sorted()
	g.places = places
	if len(opt.Sources) > 0 && !opt.Static {
		for f, id := range b.frames {
			b.frames[f] = ids[id]
		}
		g.listing = newListing(p, opt.Sources, b.frames)
	}
	g.tree.Graft(&b.tree, ids) // of distinct frames: the nodes keep their ids
	g.head = describe(p, opt)
	g.head.Tasks = append(g.head.Tasks, b.order...)
	g.head.Diff = opt.Diff != nil || slices.ContainsFunc(g.lists, func(l list) bool { return l.old })
	left := b.left // and nothing else of b is held from here on
	g.sum(opt)
	to := g.cut(opt)
	ordered := g.arrange()
	for n := range to {
		to[n] = ordered[to[n]]
	}
	g.move(to, len(ordered))
	g.smaller = moved(g.smaller, ordered)
	g.head.Frames, g.head.Nodes, g.head.Lists = len(g.places), g.tree.Len(), len(g.lists)
	g.head.Runs = len(g.runs)
	if left > 0 {
		g.head.Comments = slices.Insert(slices.Clone(g.head.Comments), 0, fmt.Sprintf( // where it is seen at once
			"The order in time is left out: the stacks changed %s times, and a page shows at most %s changes",
			text.Thousands(left), text.Thousands(maxRuns)))
	}
	g.head.Kinds = g.kinds()
	g.head.Sources = g.listing != nil
	return g
}

// kinds lists the kinds that functions of g have.
func (g *graph) kinds() []int {
	met := map[kind]bool{}
	for i := range g.places[firstFrame:] {
		met[g.places[firstFrame+i].kind] = true
	}
	list := []int{}
	for k := range kinds {
		if met[k] && k != thread && k != smaller {
			list = append(list, int(k))
		}
	}
	return list
}

// moved puts each of list to its new place.
func moved(list []uint32, to []profile.NodeID) []uint32 {
	out := make([]uint32, len(list))
	for n, v := range list {
		out[to[n]] = v
	}
	return out
}

func describe(p *profile.Profile, opt Options) head {
	h := head{Version: 2, Title: opt.Title, Type: opt.Type, Tasks: []task{}, Inverted: opt.Inverted,
		Duration: p.Duration.Seconds(), Period: p.Period.Seconds()}
	for i, arg := range p.Command {
		if i > 0 {
			h.Command += " "
		}
		h.Command += clean(arg)
	}
	if !p.Start.IsZero() {
		h.Start = p.Start.UTC().Format(time.RFC3339)
	}
	for _, c := range p.Comments {
		h.Comments = append(h.Comments, clean(c))
	}
	for _, t := range p.Types {
		h.Types = append(h.Types, shown{Title: typeTitle(t), Unit: clean(t.Unit), Waited: waited(t), Equal: "equal",
			Whole: t.ThreadTime(), scale: 1})
	}
	return h
}

// sum fills the totals of the head, and what of a difference holds for a value as a whole.
func (g *graph) sum(opt Options) {
	types := g.head.Types
	for _, l := range g.lists {
		for i, v := range l.values {
			t := &types[i%len(types)]
			total, waiting := &t.Total, &t.Waiting
			if l.old {
				total, waiting = &t.Old, &t.OldWaiting
			}
			*total += v
			if g.waits(l.nodes[i/len(types)]) {
				*waiting += v
			}
		}
	}
	shown := &types[opt.Type]
	g.head.Native = opt.Native
	g.head.Waits = opt.Waits || shown.Waiting == shown.Total
	if opt.Diff == nil {
		return
	}
	for i := range types {
		types[i].scale = opt.Diff.Scale[i]
		types[i].Grain = &[2]float64{opt.Diff.NewGrain[i], opt.Diff.OldGrain[i]}
		if types[i].Grain[0] > 0 {
			types[i].Equal = "equal, or within the noise of the samples"
		}
	}
}

// waits says whether a thread whose stack is n waits.
func (g *graph) waits(n profile.NodeID) bool { return n > 0 && g.places[g.tree.Frame(n)].waits }

// values sums, for each node, value typ of all tasks over the node and what it calls.
func (g *graph) values(typ int, s side) []int64 {
	sums := g.selfs(typ, s)
	for n := len(sums) - 1; n > 0; n-- {
		sums[g.tree.Parent(profile.NodeID(n))] += sums[n]
	}
	return sums
}

func (g *graph) selfs(typ int, s side) []int64 {
	sums, types := make([]int64, g.tree.Len()), len(g.head.Types)
	for _, l := range g.lists {
		if l.old != s.old {
			continue
		}
		for i, n := range l.nodes {
			if s.waits || !g.waits(n) {
				sums[n] += l.values[i*types+typ]
			}
		}
	}
	return sums
}

// source is where a function is, as "ae.c:347": the lines are those that were seen in the first of its files.
func (p *place) source() string {
	s, more, _ := strings.Cut(bases(p.files), ", ")
	if p.low > 0 {
		s += fmt.Sprintf(":%d", p.low)
	}
	if p.high > p.low {
		s += fmt.Sprintf("–%d", p.high)
	}
	if more != "" {
		s += ", " + more
	}
	return s
}

// bases are the last elements of paths, each once.
func bases(paths []string) string {
	var names []string
	for _, p := range paths {
		if base := path.Base(p); !slices.Contains(names, base) {
			names = append(names, base)
		}
	}
	return strings.Join(names, ", ")
}

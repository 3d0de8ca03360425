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
	Width    int      `json:"width,omitempty"`
	Runs     int      `json:"runs,omitempty"`
}

// shown is a value as the switch shows it. Total and Old are sums over everything.
type shown struct {
	Title string `json:"title"`
	Unit  string `json:"unit"`
	Total int64  `json:"total"`
	Old   int64  `json:"old,omitempty"`    // scaled
	Whole bool   `json:"thread,omitempty"` // times of all threads added up
	// Grain is what one sample of the newer and of the older side weighs, 0 if that is not known: see profile.Diff.Error.
	Grain *[2]float64 `json:"grain,omitempty"`
	scale float64     // what Old was multiplied with
}

type task struct {
	PID     int    `json:"pid,omitempty"`
	TID     int    `json:"tid,omitempty"`
	Process string `json:"process,omitempty"`
	Thread  string `json:"thread,omitempty"`
}

func (h *head) note() string {
	return fmt.Sprintf("%s frames too small to be kept are drawn as grey “(n smaller)” frames", text.Thousands(h.Smaller))
}

// graph is a profile, or two, as one call tree of shown frames.
type graph struct {
	head    head
	places  []place
	tree    tree
	lists   []list
	runs    []profile.Run // Stack is a node of tree
	smaller []uint32      // by node: how many frames it stands for, 0 for a frame of its own
}

// tree is a call tree: parents before children, 0 is the root. In a finished graph it is in
// preorder.
type tree struct {
	frame, parent []uint32
}

// list is what one task, or none, got in each node by itself: len(head.Types) values a node.
type list struct {
	task   int // index in head.Tasks, -1 for none
	old    bool
	nodes  []uint32
	values []int64
}

// newGraph makes the graph of p, which is the newer side of opt.Diff if there is one.
func newGraph(p *profile.Profile, opt Options) *graph {
	b := &joiner{table: newTable(), tasks: map[task]int{}, threads: opt.Threads, types: len(p.Types)}
	var olds []int64
	if opt.Diff != nil {
		olds = opt.Diff.Old
	}
	b.add(p, olds)
	g := &graph{tree: b.tree, lists: b.lists, runs: b.runs}
	places, ids := b.table.sorted()
	g.places = places
	for n := range g.tree.frame {
		g.tree.frame[n] = ids[g.tree.frame[n]]
	}
	g.head = describe(p, opt)
	g.head.Tasks = append(g.head.Tasks, b.order...)
	g.head.Diff = slices.ContainsFunc(g.lists, func(l list) bool { return l.old }) || opt.Diff != nil
	g.sum(opt)
	g.cut(opt)
	g.arrange()
	g.head.Frames, g.head.Nodes, g.head.Lists = len(g.places), len(g.tree.frame), len(g.lists)
	g.head.Runs = len(g.runs)
	return g
}

func describe(p *profile.Profile, opt Options) head {
	h := head{Version: 1, Title: opt.Title, Type: opt.Type, Tasks: []task{}, Inverted: opt.Inverted, Width: opt.Width,
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
		h.Types = append(h.Types, shown{Title: typeTitle(t), Unit: clean(t.Unit), Whole: t.ThreadTime(), scale: 1})
	}
	return h
}

// sum fills the totals of the head, and what of a difference holds for a value as a whole.
func (g *graph) sum(opt Options) {
	types := g.head.Types
	for _, l := range g.lists {
		for i, v := range l.values {
			if l.old {
				types[i%len(types)].Old += v
			} else {
				types[i%len(types)].Total += v
			}
		}
	}
	if opt.Diff == nil {
		return
	}
	for i := range types {
		types[i].scale = opt.Diff.Scale[i]
		types[i].Grain = &[2]float64{opt.Diff.NewGrain[i], opt.Diff.OldGrain[i]}
	}
}

// values sums, for each node, value typ of all tasks over the node and what it calls.
func (g *graph) values(typ int, old bool) []int64 {
	sums := g.selfs(typ, old)
	for n := len(sums) - 1; n > 0; n-- {
		sums[g.tree.parent[n]] += sums[n]
	}
	return sums
}

func (g *graph) selfs(typ int, old bool) []int64 {
	sums, types := make([]int64, len(g.tree.frame)), len(g.head.Types)
	for _, l := range g.lists {
		if l.old != old {
			continue
		}
		for i, n := range l.nodes {
			sums[n] += l.values[i*types+typ]
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

package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// Sort is what rows are ordered by.
type Sort int

// The orders, in that of the columns. Numbers go down, names up.
const (
	SortSelf Sort = iota
	SortTotal
	SortCPU
	SortName
	SortModule
	SortFile
)

var sortNames = [...]string{"self", "total", "cpu", "function", "module", "file"}

func (s Sort) String() string { return sortNames[s] }

// ParseSort is the inverse of String.
func ParseSort(s string) (Sort, error) {
	for i, name := range sortNames {
		if s == name {
			return Sort(i), nil
		}
	}
	return 0, fmt.Errorf("want %s", strings.Join(sortNames[:], ", "))
}

// nativeView says whether native code below a function of a language is a row of its own.
type nativeView uint8

const (
	nativeByShare nativeView = iota // until most of what ran is a language's; a person has not chosen
	nativeShown
	nativeFolded // it is that function's
)

// view says what of the data is shown and how.
type view struct {
	by         Grouping
	sort       Sort
	idle       bool // with what waits in the kernel
	sinceBegin bool
	native     nativeView
	filter     filter
}

// row is one line of the table.
type row struct {
	id          rowID // of its grouping; the index of the task by thread
	name        string
	waits       bool   // no code, but what threads wait in
	module      string // path of the first
	file        string
	line        int
	kind        profile.Kind
	self, total amount
	trend       Trend // of the share that the table is sorted by, else of the total
}

// label is the name as a table shows it.
func (r *row) label() string { return profile.Function{Name: r.name, Waits: r.waits}.String() }

// table is what is shown of some data.
type table struct {
	rows    []row
	sum     amount // of everything that the shares are of
	idle    amount // what was left out as waiting
	waiting int    // threads that did nothing else, if idle ones are left out
	covered time.Duration
	counted bool // amounts hold samples
	// cpu is the CPU time of everything, what is hidden and filtered out too; not known without hasCPU.
	cpu    float64
	hasCPU bool
}

// share is v's part of everything.
func (t *table) share(v amount) float64 {
	if t.sum.value <= 0 {
		return 0
	}
	return v.value / t.sum.value
}

// cell is v's share for a column.
func (t *table) cell(v amount) string { return text.Cell(t.share(v), 1) }

// cpuShare is how much of one CPU a time is; not ok where it is not known.
func (t *table) cpuShare(cpu float64) (share float64, ok bool) {
	if !t.hasCPU || t.covered <= 0 {
		return 0, false
	}
	return cpu / float64(t.covered), true
}

// cpuCell is the share of one CPU for a column, "-" where it is not known.
func (t *table) cpuCell(cpu float64) string {
	share, ok := t.cpuShare(cpu)
	if !ok {
		return "-"
	}
	return text.Cell(share, 1)
}

// nodeAmounts sums the samples that v lets pass by stack, in self, and by thread.
func (d *data) nodeAmounts(v *view, t *table) (self, tasks []amount) {
	p := d.p
	self, tasks = make([]amount, p.Tree.Len()), make([]amount, len(p.Tasks)+1)
	pass, waits := make([]bool, len(p.Tasks)+1), make([]bool, len(p.Tasks)+1)
	pass[0] = v.filter.thread == nil
	canIdle := p.Types[p.Default].Type != profile.CPUTime.Type // what used the CPU did not wait
	for i := range p.Tasks {
		pass[i+1] = v.filter.matchesTask(&p.Tasks[i])
	}
	t.hasCPU = p.TypeIndex(profile.CPUTime.Type) >= 0
	cpus := make([]float64, len(tasks)) // a thread that is seen waiting had worked, too
	d.each(v.sinceBegin, func(s profile.Sample, a amount) {
		t.cpu += a.cpu
		if pass[s.Task+1] {
			cpus[s.Task+1] += a.cpu
		}
		switch {
		case !pass[s.Task+1]:
		case !v.idle && canIdle && isIdle(p, s.Stack):
			t.idle.add(a)
			waits[s.Task+1] = waits[s.Task+1] || a.value > 0
		default:
			self[s.Stack].add(a)
			tasks[s.Task+1].add(a)
			t.sum.add(a)
		}
	})
	for i := range waits {
		tasks[i].cpu = cpus[i]
		if waits[i] && tasks[i].value <= 0 {
			t.waiting++
		}
	}
	return self, tasks
}

// isIdle reports whether a thread in stack n waits in the kernel.
func isIdle(p *profile.Profile, n profile.NodeID) bool {
	return n != 0 && p.Frames[p.Tree.Frame(n)].Waits()
}

// table sums up d as v asks.
func (d *data) table(v *view) *table {
	p := d.p
	t := &table{covered: d.covered(v.sinceBegin), counted: p.TypeIndex(profile.SamplesCount.Type) >= 0}
	self, tasks := d.nodeAmounts(v, t)
	if v.by == ByThread {
		t.rows = t.threadRows(p, tasks)
	} else {
		t.rows = d.codeRows(v.by, self)
	}
	t.rows = slices.DeleteFunc(t.rows, func(r row) bool {
		if v.by == ByThread {
			return !matches(v.filter.name, r.name)
		}
		return !v.filter.matchesRow(&d.groups.of(v.by).groups[r.id])
	})
	for i := range t.rows {
		r := &t.rows[i]
		r.self.round()
		r.total.round()
		r.trend = trend(r.total, t.sum, t.counted)
		if v.sort == SortSelf {
			r.trend = trend(r.self, t.sum, t.counted)
		}
	}
	t.sum.round()
	t.idle.round()
	slices.SortFunc(t.rows, v.sort.compare)
	return t
}

// threadRows has a row for each thread that got something, or used CPU time that shows.
func (t *table) threadRows(p *profile.Profile, tasks []amount) []row {
	const shows = 0.0005 // of one CPU
	var rows []row
	for i, a := range tasks {
		if cpu, _ := t.cpuShare(a.cpu); a.value <= 0 && cpu < shows {
			continue
		}
		name := "(thread not known)"
		if i > 0 {
			name = taskLabel(&p.Tasks[i-1])
		}
		rows = append(rows, row{id: rowID(i - 1), name: name, self: a, total: a})
	}
	return rows
}

// codeRows sums the stacks by function or by line. One pass over the tree from its end adds
// each node to its caller's.
func (d *data) codeRows(by Grouping, self []amount) []row {
	tree, g := &d.p.Tree, d.groups.of(by)
	rows := make([]row, len(g.groups))
	places := newPlaces(d.groups)
	all := slices.Clone(self)
	for n := tree.Len() - 1; n > 0; n-- {
		if all[n] == (amount{}) {
			continue
		}
		id := profile.NodeID(n)
		r := &rows[g.rows[tree.Frame(id)]]
		r.self.add(self[n])
		if g.outermost[n] {
			r.total.add(all[n])
		}
		all[tree.Parent(id)].add(all[n])
		places.add(tree.Frame(id), self[n].value, all[n].value)
	}
	best := places.best()
	shown := rows[:0]
	for i := range rows {
		r := rows[i]
		if r.total.value <= 0 {
			continue
		}
		k := &g.groups[i]
		r.id, r.name, r.waits, r.module, r.kind = rowID(i), k.Name, k.Waits, k.module(), k.kind
		r.file, r.line = k.file, k.line
		if by == ByFunction && best[i] != noRow {
			line := &d.groups.line.groups[best[i]]
			r.file, r.line = line.file, line.line
		}
		shown = append(shown, r)
	}
	return shown
}

// compare orders rows by s, and rows that are equal in that by name.
func (s Sort) compare(a, b row) int {
	c := 0
	switch s {
	case SortSelf:
		c = cmp.Or(cmp.Compare(b.self.value, a.self.value), cmp.Compare(b.total.value, a.total.value))
	case SortTotal:
		c = cmp.Or(cmp.Compare(b.total.value, a.total.value), cmp.Compare(b.self.value, a.self.value))
	case SortCPU:
		c = cmp.Or(cmp.Compare(b.self.cpu, a.self.cpu), cmp.Compare(b.total.cpu, a.total.cpu),
			cmp.Compare(b.self.value, a.self.value)) // where no CPU time is known
	case SortModule:
		c = cmp.Or(cmp.Compare(a.module, b.module), cmp.Compare(b.self.value, a.self.value))
	case SortFile:
		c = cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	}
	return cmp.Or(c, cmp.Compare(a.name, b.name), cmp.Compare(a.module, b.module), cmp.Compare(a.file, b.file),
		cmp.Compare(a.line, b.line), cmp.Compare(a.id, b.id))
}

// taskLabel names a thread: "redis-server/bio_aof 4123", ids where they are known.
func taskLabel(t *profile.Task) string {
	name := t.Thread
	if t.Process != "" && t.Process != t.Thread {
		name = t.Process + "/" + t.Thread
	}
	if name == "" {
		name = "thread"
	}
	if t.TID != 0 {
		name = fmt.Sprintf("%s %d", name, t.TID)
	}
	return name
}

// places finds for each function the line with the most own time, or where it has none
// the line that most time was spent below.
type places struct {
	groups *groups
	lines  []struct{ self, below float64 } // by row of the grouping by line
	owner  []rowID                         // the function of a line
}

func newPlaces(g *groups) *places {
	p := &places{groups: g, lines: make([]struct{ self, below float64 }, len(g.line.groups)),
		owner: make([]rowID, len(g.line.groups))}
	for f, line := range g.line.rows {
		p.owner[line] = g.function.rows[f]
	}
	return p
}

func (p *places) add(f profile.FrameID, self, below float64) {
	l := &p.lines[p.groups.line.rows[f]]
	l.self += self
	l.below += below
}

// best gives for each function its line that has the most, or noRow.
func (p *places) best() []rowID {
	best := make([]rowID, len(p.groups.function.groups))
	for i := range best {
		best[i] = noRow
	}
	for i := range p.lines {
		l := p.lines[i]
		if l.below <= 0 || p.groups.line.groups[i].file == "" {
			continue
		}
		old := best[p.owner[i]]
		if old == noRow || l.self > p.lines[old].self || l.self == p.lines[old].self && l.below > p.lines[old].below {
			best[p.owner[i]] = rowID(i)
		}
	}
	return best
}

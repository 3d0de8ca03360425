package flame

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// SpeedscopeOptions say how a speedscope file is written.
type SpeedscopeOptions struct {
	Type    int          // index of the value type; -1 is the profile's default
	Name    string       // title of the file; "" is the command of the profile
	Version string       // of fpstack
	Warn    func(string) // called if the file is larger than browsers open; may be nil
}

// largeSpeedscope is what browsers were seen to run out of memory at, in bytes: speedscope reads a file as one string.
// Source: issues 347 and 519 of jlfwong/speedscope.
const largeSpeedscope = 50_000_000

// maxSpeedscopeThreads bounds the profiles of one file: its page lists them one by one.
const maxSpeedscopeThreads = 200

const speedscopeSchema = "https://www.speedscope.app/file-format-schema.json"

// WriteSpeedscope writes one value of p in speedscope's file format: all threads in one profile,
// then a profile for each thread, the main one first and the others by weight; what is left of more than 200
// is one more profile. Samples of a thread are in order of time if p
// has Runs and the value is wall time, with an empty stack where nothing was seen; else, and for
// all threads, they are as in a flame graph. A frame is a function, without lines.
//
// Precondition: p passes [profile.Profile.CheckValid]. It fails if w does.
// Source: file-format-schema.json of the npm package speedscope.
func WriteSpeedscope(w io.Writer, p *profile.Profile, opt SpeedscopeOptions) error {
	counted := &countingWriter{to: w}
	s := newSpeedscope(counted, p, typeOf(p, opt.Type))
	profiles := s.profiles()
	name := opt.Name
	if name == "" {
		name = strings.Join(p.Command, " ")
	}
	s.raw(`{"$schema":"` + speedscopeSchema + `","exporter":`)
	s.text(strings.TrimSuffix("fpstack@"+opt.Version, "@"))
	s.raw(`,"name":`)
	s.text(name)
	s.raw(`,"activeProfileIndex":0,"shared":{"frames":[`)
	for i := range s.names {
		s.raw(sep(i))
		s.w.Write(s.entry(i))
	}
	s.raw("]},\"profiles\":[\n")
	for i := range profiles {
		if i > 0 {
			s.raw(",\n")
		}
		s.profile(&profiles[i])
	}
	s.raw("\n]}\n")
	err := s.w.Flush()
	if counted.bytes > largeSpeedscope && err == nil && opt.Warn != nil {
		opt.Warn(fmt.Sprintf("speedscope may not open a file of %d MB: record for a shorter time or at a lower rate",
			counted.bytes/1e6))
	}
	return err
}

// countingWriter counts what it passes on.
type countingWriter struct {
	to    io.Writer
	bytes int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.bytes += int64(n)
	return n, err
}

// sep is what is before element i of a list.
func sep(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// speedscope writes one file. Errors of writing stay in w.
type speedscope struct {
	w      *bufio.Writer
	p      *profile.Profile
	typ    int
	names  []scopeName      // of frames
	tree   profile.Tree     // of functions: its frames are indexes of names
	place  []profile.NodeID // by node of p.Tree
	rank   []uint32         // by node of tree, see ranks
	number []byte
	path   []profile.FrameID
}

// scopeName is a frame of the file.
type scopeName struct{ name, file string }

// scopeProfile is a profile of the file.
type scopeProfile struct {
	name  string
	start int64
	list  []weighed
}

// weighed is a stack of functions and what it got.
type weighed struct {
	stack  profile.NodeID
	weight int64
}

func newSpeedscope(w io.Writer, p *profile.Profile, typ int) *speedscope {
	s := &speedscope{w: bufio.NewWriterSize(w, 256<<10), p: p, typ: typ, place: make([]profile.NodeID, p.Tree.Len())}
	of, first := p.Functions()
	for _, f := range first {
		s.names = append(s.names, scopeName{p.Function(f).String(), p.Frames[f].File})
	}
	for n := profile.NodeID(1); int(n) < len(s.place); n++ {
		f := profile.FrameID(of[p.Tree.Frame(n)])
		s.place[n] = s.tree.Child(s.place[p.Tree.Parent(n)], f)
	}
	s.rank = ranks(&s.tree, s.self())
	return s
}

func (s *speedscope) raw(text string) { s.w.WriteString(text) }

// text writes a JSON string.
func (s *speedscope) text(text string) { s.w.Write(quoted(text)) }

// quoted returns a JSON string. Marshal fails on no string.
func quoted(text string) []byte {
	q, _ := json.Marshal(clean(text))
	return q
}

// entry returns frame i as it is in the file.
func (s *speedscope) entry(i int) []byte {
	n := &s.names[i]
	out := append([]byte(`{"name":`), quoted(n.name)...)
	if n.file != "" {
		out = append(append(out, `,"file":`...), quoted(n.file)...)
	}
	return append(out, '}')
}

func (s *speedscope) int(v int64) {
	s.number = strconv.AppendInt(s.number[:0], v, 10)
	s.w.Write(s.number)
}

// profiles returns what the file holds: all threads, each one, the others.
func (s *speedscope) profiles() []scopeProfile {
	byTask := s.byTask()
	order := s.taskOrder(byTask)
	out := []scopeProfile{{name: s.allName(len(order), min(len(order), maxSpeedscopeThreads)), list: s.whole()}}
	if len(order) < 2 && len(s.p.Runs) == 0 {
		return out
	}
	runs := s.runsByTask()
	for _, t := range order[:min(len(order), maxSpeedscopeThreads)] {
		out = append(out, s.thread(t, byTask, runs))
	}
	return s.appendOthers(out, order[min(len(order), maxSpeedscopeThreads):], byTask)
}

// allName is that of the first profile.
func (s *speedscope) allName(threads, follow int) string {
	if follow < threads {
		return fmt.Sprintf("all %d threads, the %d largest follow", threads, follow)
	}
	return "all threads"
}

// byTask returns the stacks of each task; the last are those of samples without a task.
func (s *speedscope) byTask() [][]weighed {
	byTask := make([][]weighed, len(s.p.Tasks)+1)
	for i, sample := range s.p.Samples {
		t := sample.Task
		if t < 0 {
			t = len(s.p.Tasks)
		}
		byTask[t] = append(byTask[t], weighed{s.place[sample.Stack], s.p.Value(i)[s.typ]})
	}
	return byTask
}

// self returns what each node of s.tree got.
func (s *speedscope) self() []int64 {
	self := make([]int64, s.tree.Len())
	for i, sample := range s.p.Samples {
		self[s.place[sample.Stack]] += s.p.Value(i)[s.typ]
	}
	return self
}

// whole returns the stacks of all tasks.
func (s *speedscope) whole() []weighed {
	var list []weighed
	for n, v := range s.self() {
		list = append(list, weighed{profile.NodeID(n), v})
	}
	return s.largestFirst(list)
}

// thread returns the profile of a task, in order of time if that is known.
func (s *speedscope) thread(task int, byTask [][]weighed, runs [][]profile.Run) scopeProfile {
	if len(runs) > 0 && len(runs[task]) > 0 {
		return scopeProfile{s.taskName(task), int64(runs[task][0].At), inTime(s.place, runs[task])}
	}
	return scopeProfile{s.taskName(task), 0, s.largestFirst(byTask[task])}
}

// appendOthers appends one profile for several tasks, none if there are none.
func (s *speedscope) appendOthers(out []scopeProfile, tasks []int, byTask [][]weighed) []scopeProfile {
	if len(tasks) == 0 {
		return out
	}
	var list []weighed
	for _, t := range tasks {
		list = append(list, byTask[t]...)
	}
	return append(out, scopeProfile{fmt.Sprintf("the other %d threads", len(tasks)), 0, s.largestFirst(list)})
}

// runsByTask is nil if the order of time is not known, or not that of the value.
func (s *speedscope) runsByTask() [][]profile.Run {
	if s.p.Runs == nil || s.p.Types[s.typ] != profile.WallTime {
		return nil
	}
	byTask := make([][]profile.Run, len(s.p.Tasks)+1)
	for _, r := range s.p.Runs {
		if r.Task >= 0 {
			byTask[r.Task] = append(byTask[r.Task], r)
		}
	}
	return byTask
}

// taskOrder puts main threads first, then those with the greatest sum.
func (s *speedscope) taskOrder(byTask [][]weighed) []int {
	weight := make([]int64, len(byTask))
	var order []int
	for t, list := range byTask {
		for _, w := range list {
			weight[t] += w.weight
		}
		if weight[t] != 0 {
			order = append(order, t)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.level(a), s.level(b)), cmp.Compare(weight[b], weight[a]))
	})
	return order
}

func (s *speedscope) level(task int) int {
	if task < len(s.p.Tasks) && s.p.Tasks[task].PID != 0 && s.p.Tasks[task].PID == s.p.Tasks[task].TID {
		return 0
	}
	return 1
}

func (s *speedscope) taskName(task int) string {
	if task == len(s.p.Tasks) {
		return "thread not known"
	}
	t := s.p.Tasks[task]
	name := t.Thread
	if name == "" {
		name = t.Process
	}
	if t.TID != 0 {
		name += " " + strconv.Itoa(t.TID)
	}
	return strings.TrimSpace(name)
}

// largestFirst joins equal stacks and puts them in the order of a flame graph: what has callers in common
// is together, and what all threads spent most in comes first. In another order the page takes many times
// as long to open, since neighbours share few frames.
func (s *speedscope) largestFirst(list []weighed) []weighed {
	slices.SortFunc(list, func(a, b weighed) int { return cmp.Compare(s.rank[a.stack], s.rank[b.stack]) })
	return join(list)
}

// ranks returns the place of each node of t in a walk from the root that takes the callee
// with the largest total first, and a caller before its callees.
func ranks(t *profile.Tree, self []int64) []uint32 {
	total := slices.Clone(self)
	for n := profile.NodeID(t.Len() - 1); n > 0; n-- {
		total[t.Parent(n)] += total[n]
	}
	child, sibling := t.Links()
	rank := make([]uint32, t.Len())
	stack := []profile.NodeID{0}
	for next := uint32(0); len(stack) > 0; next++ {
		n := stack[len(stack)-1]
		rank[n] = next
		stack = stack[:len(stack)-1]
		from := len(stack)
		for c := child[n]; c != 0; c = sibling[c] {
			stack = append(stack, c)
		}
		slices.SortFunc(stack[from:], func(a, b profile.NodeID) int { // the first one last
			return cmp.Or(cmp.Compare(total[a], total[b]), cmp.Compare(b, a))
		})
	}
	return rank
}

// join adds up neighbours with the same stack and leaves out what weighs nothing.
func join(list []weighed) []weighed {
	var out []weighed
	for _, w := range list {
		switch {
		case w.weight == 0:
		case len(out) > 0 && out[len(out)-1].stack == w.stack:
			out[len(out)-1].weight += w.weight
		default:
			out = append(out, w)
		}
	}
	return out
}

// inTime returns runs of one task, gaps between them as the empty stack.
func inTime(place []profile.NodeID, runs []profile.Run) []weighed {
	var list []weighed
	end := runs[0].At
	for _, r := range runs {
		if r.At > end {
			list = append(list, weighed{0, int64(r.At - end)})
		}
		list = append(list, weighed{place[r.Stack], int64(r.For)})
		end = max(end, r.At+r.For)
	}
	return join(list)
}

// speedscopeUnits are the units that the format knows.
var speedscopeUnits = []string{"nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"}

// profile writes one profile of the file.
func (s *speedscope) profile(out *scopeProfile) {
	unit := "none"
	if u := s.p.Types[s.typ].Unit; slices.Contains(speedscopeUnits, u) {
		unit = u
	}
	end := out.start
	for _, w := range out.list {
		end += w.weight
	}
	s.raw(`{"type":"sampled","name":`)
	s.text(out.name)
	s.raw(`,"unit":"` + unit + `","startValue":`)
	s.int(out.start)
	s.raw(`,"endValue":`)
	s.int(end)
	s.raw(`,"samples":[`)
	for i, w := range out.list {
		s.raw(sep(i) + "[")
		s.path = s.tree.Append(s.path[:0], w.stack)
		for k, f := range slices.Backward(s.path) {
			s.int(int64(f))
			if k > 0 {
				s.raw(",")
			}
		}
		s.raw("]")
	}
	s.raw(`],"weights":[`)
	for i, w := range out.list {
		s.raw(sep(i))
		s.int(w.weight)
	}
	s.raw("]}")
}

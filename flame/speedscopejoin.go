package flame

import (
	"fmt"
	"strconv"

	"github.com/fpstack/fpstack/profile"
)

// maxSpeedscopeFile bounds a file, in bytes. speedscope reads a file as one string, and browsers
// were seen to run out of memory at 65 MB.
// Source: issues 347 and 519 of jlfwong/speedscope.
const maxSpeedscopeFile = 50_000_000

// perProfile and perFile are upper bounds of what is written besides lists and names.
const perProfile, perFile = 256, 1024

// joined returns profiles that take at most limit bytes, and says what it took. In turn:
//
// Stacks below a certain weight end in "(smaller)" behind what they have in common with larger ones, so
// that sums of what is shown stay right. It is the lowest weight with which all threads take no more
// than a quarter of the file, or all of it if no threads follow.
//
// Threads that do not fit in order of time are shown by weight; threads that do not fit so are joined in one
// profile, which has no more stacks than that of all threads.
func (s *speedscope) joined(limit int64) ([]scopeProfile, string) {
	byTask := s.byTask()
	order := s.taskOrder(byTask)
	alone := len(order) < 2 && len(s.p.Runs) == 0
	share := limit / 4
	if alone {
		share = limit - perProfile - perFile
	}
	note := fmt.Sprintf("speedscope opens no large files: to stay below %d MB, stacks below %s of all are joined as %s",
		limit/1e6, s.cut(share), smallerName)
	byTask = s.byTask() // in their new places
	all := scopeProfile{"all threads", 0, s.whole()}
	if alone {
		all.name += ", " + note
		return []scopeProfile{all}, note
	}
	list, others, untimed := s.fit(order, byTask, limit-perFile-s.table()-2*s.listSize(&all))
	all.name = s.allName(len(order), len(list))
	if len(others) > 0 {
		note += fmt.Sprintf(", threads shown as one: %d", len(others))
	}
	if untimed > 0 {
		note += fmt.Sprintf(", threads not in the order of time: %d", untimed)
	}
	all.name += ", " + note
	return s.appendOthers(append([]scopeProfile{all}, list...), others, byTask), note
}

// fit returns the profiles of the threads that take at most left bytes, and the other threads.
// untimed is how many of the profiles are not in the order of time that is known.
func (s *speedscope) fit(order []int, byTask [][]weighed, left int64) (list []scopeProfile, others []int,
	untimed int) {
	runs := s.runsByTask()
	for _, t := range order {
		if len(list) == maxSpeedscopeThreads {
			others = append(others, t)
			continue
		}
		one := s.thread(t, byTask, runs)
		size := s.listSize(&one)
		if size > left && len(runs) > 0 && len(runs[t]) > 0 {
			one = s.thread(t, byTask, nil)
			one.name += ", not in the order of time"
			if size = s.listSize(&one); size <= left {
				untimed++
			}
		}
		if size > left {
			others = append(others, t)
			continue
		}
		left -= size
		list = append(list, one)
	}
	return list, others, untimed
}

// size is an upper bound of what the file takes.
func (s *speedscope) size(profiles []scopeProfile) int64 {
	sum := int64(perFile) + s.table()
	for i := range profiles {
		sum += s.listSize(&profiles[i])
	}
	return sum
}

// table is what the frames take.
func (s *speedscope) table() int64 {
	sum := int64(0)
	for i := range s.names {
		sum += int64(len(s.entry(i))) + 1
	}
	return sum
}

// listSize is an upper bound of what one profile takes.
func (s *speedscope) listSize(p *scopeProfile) int64 {
	sum := int64(perProfile + len(quoted(p.name)))
	for _, w := range p.list {
		sum += s.cost[w.stack] + digits(w.weight)
	}
	return sum
}

// costs returns what each stack of t takes in a list without its weight.
func costs(t *profile.Tree) []int64 {
	cost := make([]int64, t.Len())
	cost[0] = int64(len("[],,"))
	for n := profile.NodeID(1); int(n) < len(cost); n++ {
		cost[n] = cost[t.Parent(n)] + digits(int64(t.Frame(n))) + 1
	}
	return cost
}

// digits is how long v is as text.
func digits(v int64) int64 {
	var buf [20]byte
	return int64(len(strconv.AppendInt(buf[:0], v, 10)))
}

// cut puts the stacks that got less than a floor to "(smaller)" behind the nearest caller that got more,
// so that what all threads and the names take is at most share. It says what the floor is.
func (s *speedscope) cut(share int64) string {
	c := newFloorCut(&s.tree, s.self(), len(s.names))
	c.base = int64(perProfile + len(smallerName) + 16)
	c.cost = func(n profile.NodeID) int64 { return s.cost[n] + digits(c.self[n]) }
	c.joined = func(up profile.NodeID) int64 {
		return s.cost[up] + digits(int64(len(s.names))) + 1 + digits(c.total[up])
	}
	entry := make([]int64, len(s.names))
	for i := range s.names {
		entry[i] = int64(len(s.entry(i))) + 1
	}
	c.name = func(f profile.FrameID) int64 { return entry[f] }
	floor := c.floor(share)
	s.prune(c, floor)
	return c.share(floor)
}

// prune makes the tree, names and places of s those above floor. A name's number does not grow by
// it, so that sizes do not.
func (s *speedscope) prune(c *floorCut, floor int64) {
	id := make([]profile.FrameID, len(s.names))
	var names []scopeName
	for i, used := range c.above(floor) {
		if used {
			id[i] = profile.FrameID(len(names))
			names = append(names, s.names[i])
		}
	}
	tree, to := c.prune(floor, func(f profile.FrameID) profile.FrameID { return id[f] }, profile.FrameID(len(names)))
	for i, n := range s.place {
		s.place[i] = to[n]
	}
	s.names, s.tree = append(names, scopeName{name: smallerName}), tree
	s.measure()
}

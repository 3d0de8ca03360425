package profile

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLargest(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 200 {
		s := make([]uint64, 1+r.Intn(500))
		for i := range s {
			s[i] = uint64(r.Intn(1 + r.Intn(300)))
		}
		least, most := uint64(r.Intn(20)), r.Intn(len(s)+2)
		order := make([]int, len(s))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return int(s[b]) - int(s[a]) })
		want := make([]bool, len(s))
		for k, i := range order {
			want[i] = k < most && s[i] >= max(1, least)
		}
		if got := Largest(s, least, most); !slices.Equal(got, want) {
			t.Fatalf("the %d largest of %v from %d on: got %v, want %v", most, s, least, got, want)
		}
	}
}

// Values that rise and then fall, where the median of the first, the middle and the last is always the second
// smallest, take no longer than others.
func TestLargestOfAMountain(t *testing.T) {
	const size = 400_000
	mountain := make([]uint64, size)
	for i := range size / 2 {
		mountain[i], mountain[size-1-i] = uint64(2*i+1), uint64(2*i)
	}
	sorted := slices.Clone(mountain)
	begin := time.Now()
	slices.Sort(sorted)
	least := time.Since(begin)
	begin = time.Now()
	got := ranked(mountain, size/2)
	if took := time.Since(begin); took > 2*time.Second+50*least { // the square takes half a minute
		t.Errorf("took %v, sorting takes %v", took, least)
	}
	if want := sorted[size/2]; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

// pruned is a tree for Prune, given as a line for each stack, and what comes out of it.
func pruned(t *testing.T, lines []string, fate map[string]string) (kept []string, to map[string]string) {
	t.Helper()
	var tree Tree
	ids, names := map[string]FrameID{}, []string(nil)
	frame := func(name string) FrameID {
		if _, ok := ids[name]; !ok {
			ids[name] = FrameID(len(names))
			names = append(names, name)
		}
		return ids[name]
	}
	for _, line := range lines {
		n := NodeID(0)
		for name := range strings.SplitSeq(line, ";") {
			n = tree.Child(n, frame(name))
		}
	}
	path := func(t *Tree, n NodeID) string {
		var out []string
		for _, f := range slices.Backward(t.Append(nil, n)) {
			out = append(out, names[f])
		}
		return strings.Join(out, ";")
	}
	out, places := tree.Prune(func(n NodeID) (Fate, FrameID) {
		switch what := fate[path(&tree, n)]; what {
		case "":
			return Kept, tree.Frame(n)
		case "nothing":
			return Dropped, 0
		default:
			return Joined, frame(what)
		}
	})
	for n := range out.Len() - 1 {
		kept = append(kept, path(&out, NodeID(n+1)))
	}
	to = map[string]string{}
	for n := range tree.Len() - 1 {
		to[path(&tree, NodeID(n+1))] = path(&out, places[n+1])
	}
	return kept, to
}

func TestPrune(t *testing.T) {
	lines := []string{"main;a;x;y", "main;a;wait", "main;b;wait;deep", "main;c", "idle"}
	kept, to := pruned(t, lines, map[string]string{
		"main;a": "small", "main;a;x": "small", "main;a;x;y": "small", "main;a;wait": "waits",
		"main;b": "small", "main;b;wait": "nothing", "main;b;wait;deep": "waits", "idle": "nothing",
	})
	if want := []string{"main", "main;small", "main;waits", "main;c"}; !slices.Equal(slices.Sorted(slices.Values(kept)),
		slices.Sorted(slices.Values(want))) {
		t.Errorf("kept %q, want %q: one node of a kind below each caller", kept, want)
	}
	want := map[string]string{
		"main": "main", "main;a": "main;small", "main;a;x": "main;small", "main;a;x;y": "main;small",
		"main;a;wait": "main;waits",
		"main;b":      "main;small", "main;b;wait": "main;small", "main;b;wait;deep": "main;waits", "main;c": "main;c",
		"idle": "",
	}
	if fmt.Sprint(to) != fmt.Sprint(want) {
		t.Errorf("places\n%v, want\n%v", to, want)
	}
}

func TestTaskGraft(t *testing.T) {
	var from, to Tree
	main := from.Child(0, 0)
	leaf := from.Child(main, 1)
	g := NewTaskGraft(&to, &from, []FrameID{7, 8}, func(task int) NodeID {
		if task < 0 {
			return 0
		}
		return to.Child(0, FrameID(10+task))
	})
	for _, c := range []struct {
		stack NodeID
		task  int
		want  []FrameID // innermost first
	}{{leaf, -1, []FrameID{8, 7}}, {leaf, 0, []FrameID{8, 7, 10}}, {main, 0, []FrameID{7, 10}},
		{leaf, 1, []FrameID{8, 7, 11}}, {0, 1, []FrameID{11}}, {main, 0, []FrameID{7, 10}}} {
		if got := to.Append(nil, g.Place(c.stack, c.task)); !slices.Equal(got, c.want) {
			t.Errorf("stack %d of task %d is at %v, want %v", c.stack, c.task, got, c.want)
		}
	}
}

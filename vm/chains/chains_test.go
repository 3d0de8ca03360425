package chains_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fpstack/fpstack/vm/chains"
)

// TestOf: functions that wait for one another as stacks. Each row says of each function who waits for it.
func TestOf(t *testing.T) {
	for _, tc := range []struct {
		name     string
		awaiting [][]int
		want     string
	}{
		{"none", nil, "[]"},
		{"alone", [][]int{{}}, "[{[0] [] false false}]"},
		{"three deep, in another order", [][]int{{2}, {0}, {}}, "[{[1 0 2] [] false false}]"},
		{"one waits for two", [][]int{{2}, {2}, {}},
			"[{[0] [2] false false} {[1] [2] false false} {[2] [] false false}]"},
		{"two wait for one", [][]int{{1, 2}, {}, {}},
			"[{[0] [1 2] false false} {[1] [] false false} {[2] [] false false}]"},
		{"a branch below a chain", [][]int{{1}, {3}, {3}, {4}, {}},
			"[{[0 1] [2] false false} {[2] [2] false false} {[3 4] [] false false}]"},
		{"a cycle", [][]int{{1}, {0}}, "[{[0 1] [] true false}]"},
		{"itself", [][]int{{0}}, "[{[0] [] true false}]"},
		{"a cycle with one that waits for it", [][]int{{1}, {0, 2}, {}},
			"[{[0 1] [0 1] false false} {[2] [] false false}]"},
	} {
		if got := fmt.Sprint(chains.Of(len(tc.awaiting), tc.awaiting)); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestOfLong: a chain that is longer than one may be is cut, and says so; no function is lost.
func TestOfLong(t *testing.T) {
	n := 3*chains.MaxDepth + 5
	awaiting := make([][]int, n)
	for i := range n - 1 {
		awaiting[i] = []int{i + 1}
	}
	all, had := chains.Of(n, awaiting), 0
	for i := range all {
		had += len(all[i].Nodes)
		if last := i == len(all)-1; all[i].Cut == last || len(all[i].Nodes) > chains.MaxDepth {
			t.Errorf("chain %d of %d: %d functions, cut %t", i, len(all), len(all[i].Nodes), all[i].Cut)
		}
	}
	if had != n || len(all) != 4 {
		t.Errorf("%d functions in %d chains, want %d in 4", had, len(all), n)
	}
}

// TestOfAny: whatever waits for whatever, each function is in one chain, and each link of a chain is one of those.
func TestOfAny(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		n := 1 + random.IntN(12)
		awaiting := make([][]int, n)
		for i := range awaiting {
			for k := range n {
				if random.IntN(n) == 0 {
					awaiting[i] = append(awaiting[i], k)
				}
			}
		}
		seen := map[int]int{}
		all := chains.Of(n, awaiting)
		for _, c := range all {
			for i, at := range c.Nodes {
				seen[at]++
				if i > 0 && fmt.Sprint(awaiting[c.Nodes[i-1]]) != fmt.Sprint([]int{at}) {
					t.Fatalf("%v: %v has %d behind %d", awaiting, c.Nodes, at, c.Nodes[i-1])
				}
			}
		}
		if len(seen) != n {
			t.Fatalf("%v: %d functions in chains", awaiting, len(seen))
		}
		for at, times := range seen {
			if times != 1 {
				t.Fatalf("%v: %d is in %d chains", awaiting, at, times)
			}
		}
		groups := chains.Groups(all, func(i int) string { return fmt.Sprint(len(all[i].Nodes)) })
		if len(chains.Order(groups)) != len(all) {
			t.Fatalf("%v: %d of %d chains are ordered", awaiting, len(chains.Order(groups)), len(all))
		}
	}
}

// TestGroups: chains are alike where they show the same, and so do those that wait for them; more come first.
func TestGroups(t *testing.T) {
	all := []chains.Chain{{AwaitedBy: []int{3}}, {AwaitedBy: []int{4}}, {AwaitedBy: []int{5}}, {}, {}, {}}
	key := []string{"leaf", "leaf", "leaf", "root", "root", "other"}
	groups := chains.Groups(all, func(i int) string { return key[i] })
	if groups[0] != groups[1] || groups[0] == groups[2] || groups[3] != groups[4] || groups[3] == groups[5] {
		t.Errorf("groups %v", groups)
	}
	if got := fmt.Sprint(chains.Order(groups)); got != "[0 1 3 4 2 5]" {
		t.Errorf("order %s", got)
	}
}

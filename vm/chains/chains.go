// Package chains makes stacks of functions that wait for one another without a thread, as async functions do: which of
// them waits for which is known, and what one waits for that nothing else of them is. It knows no process.
package chains

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// MaxDepth bounds the functions of one chain.
const MaxDepth = 256

// Chain is functions each of which is waited for by the next alone: a stack, innermost first.
type Chain struct {
	Nodes []int
	// AwaitedBy are the chains whose innermost function waits for the outermost of this one, besides others: several
	// that wait for one, or one that waits for several.
	AwaitedBy []int
	// Cycle says that its outermost function is waited for by its innermost: none of them ever goes on.
	Cycle bool
	// Cut says that more functions wait for the last: a chain has no more than MaxDepth.
	Cut bool
}

// Of makes chains of n functions. Awaiting are those that wait for function i; each is given once. Every function is in
// one chain. They are in the order of their innermost functions.
func Of(n int, awaiting [][]int) []Chain {
	awaits := make([]int, n) // how many each waits for
	for i := range awaiting {
		for _, p := range awaiting[i] {
			awaits[p]++
		}
	}
	m := making{awaiting: awaiting, awaits: awaits, of: make([]int, n)}
	for i := range m.of {
		m.of[i] = -1
	}
	for i := range n {
		if !m.continues(i) {
			m.from(i)
		}
	}
	for i := range n { // what is left goes round, or is more than one chain has
		m.from(i)
	}
	for c := range m.chains {
		m.join(c)
	}
	return m.chains
}

type making struct {
	awaiting [][]int
	awaits   []int
	of       []int // which chain each is in
	chains   []Chain
	only     []int // of each function the one that it waits for, if that is one
}

// continues reports whether function i is the next of the chain of the one that it waits for.
func (m *making) continues(i int) bool {
	if m.only == nil {
		m.only = make([]int, len(m.awaits))
		for k := range m.awaiting {
			for _, p := range m.awaiting[k] {
				m.only[p] = k
			}
		}
	}
	return m.awaits[i] == 1 && len(m.awaiting[m.only[i]]) == 1
}

// from makes the chain that begins with function i, unless that is in one.
func (m *making) from(i int) {
	if m.of[i] >= 0 {
		return
	}
	c := Chain{}
	for at := i; ; {
		m.of[at] = len(m.chains)
		c.Nodes = append(c.Nodes, at)
		if len(m.awaiting[at]) != 1 {
			break
		}
		next := m.awaiting[at][0]
		if next == i {
			c.Cycle = true
			break
		}
		if m.of[next] >= 0 || m.awaits[next] != 1 {
			break
		}
		if c.Cut = len(c.Nodes) == MaxDepth; c.Cut {
			break
		}
		at = next
	}
	m.chains = append(m.chains, c)
}

// join notes who waits for chain c.
func (m *making) join(c int) {
	chain := &m.chains[c]
	if chain.Cycle {
		return
	}
	for _, p := range m.awaiting[chain.Nodes[len(chain.Nodes)-1]] {
		chain.AwaitedBy = append(chain.AwaitedBy, m.of[p])
	}
	slices.Sort(chain.AwaitedBy)
	chain.AwaitedBy = slices.Compact(chain.AwaitedBy)
}

// Groups numbers chains by what they show: two have the same number if key says the same of them, and of those that
// wait for them. What goes round is told apart at MaxDepth.
func Groups(all []Chain, key func(int) string) []int {
	numbers := map[string]int{}
	number := func(k string) int {
		n, ok := numbers[k]
		if !ok {
			n = len(numbers)
			numbers[k] = n
		}
		return n
	}
	out := make([]int, len(all))
	for i := range out {
		out[i] = -1
	}
	var of func(i, depth int) int
	of = func(i, depth int) int {
		if out[i] >= 0 || depth > MaxDepth {
			return out[i]
		}
		var b strings.Builder
		b.WriteString(key(i))
		by := make([]int, 0, len(all[i].AwaitedBy))
		for _, p := range all[i].AwaitedBy {
			by = append(by, of(p, depth+1))
		}
		slices.Sort(by)
		for _, p := range by {
			b.WriteByte(0)
			b.WriteString(strconv.Itoa(p))
		}
		if out[i] < 0 {
			out[i] = number(b.String())
		}
		return out[i]
	}
	for i := range all {
		of(i, 0)
	}
	return out
}

// Order lists the chains: of groups that have more first, the chains of one group behind each other.
func Order(groups []int) []int {
	count, first := map[int]int{}, map[int]int{}
	for i, g := range groups {
		if count[g]++; count[g] == 1 {
			first[g] = i
		}
	}
	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := groups[a], groups[b]
		return cmp.Or(cmp.Compare(count[y], count[x]), cmp.Compare(first[x], first[y]))
	})
	return order
}

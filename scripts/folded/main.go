// Folded writes folded stacks that look like those of a large program, for measurements: the same
// bytes for the same number of lines everywhere.
//
//	go run ./scripts/folded -lines 1000000 >big.folded
//
// Every line is another stack, at most 60 frames deep and 17 on average, and adds about three frames to
// the tree of all. A million lines are about 535 MB.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
)

const maxDepth = 60

func main() {
	lines := flag.Int("lines", 10_000, "how many `stacks` to write")
	flag.Parse()
	if *lines < 0 {
		fmt.Fprintf(os.Stderr, "write folded stacks: -lines %d: expected 0 or more\n", *lines)
		os.Exit(2)
	}
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	if err := write(w, *lines); err != nil {
		fmt.Fprintln(os.Stderr, "write folded stacks:", err)
		os.Exit(1)
	}
}

// node is a frame and its caller's place.
type node struct {
	caller, name, depth int32
}

func write(w *bufio.Writer, lines int) error {
	random := rand.New(rand.NewPCG(1, 2))
	names := vocabulary(int(28 * math.Pow(float64(lines), 0.469)))
	tree := []node{{caller: -1}}
	var line []byte
	for range lines {
		at := callSite(random, tree)
		for more := true; more && tree[at].depth < maxDepth; more = random.Float64() < 0.71 {
			// A function calls few others, so that a name tells what may follow.
			callee := (int64(tree[at].name)*7919 + int64(random.IntN(40))*104_729) % int64(len(names))
			tree = append(tree, node{at, int32(callee), tree[at].depth + 1})
			at = int32(len(tree) - 1)
		}
		line = appendStack(line[:0], tree, names, at)
		line = append(line, ' ')
		line = strconv.AppendInt(line, int64(1+random.IntN(100)), 10)
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return w.Flush()
}

// callSite picks a node below which another stack branches off.
func callSite(random *rand.Rand, tree []node) int32 {
	a, b := int32(random.IntN(len(tree))), int32(random.IntN(len(tree)))
	if tree[b].depth < tree[a].depth {
		return b
	}
	return a
}

// appendStack appends the frames of at, outermost first.
func appendStack(line []byte, tree []node, names []string, at int32) []byte {
	var path [maxDepth]int32
	n := 0
	for ; at > 0; at = tree[at].caller {
		path[n], n = tree[at].name, n+1
	}
	for i := n - 1; i >= 0; i-- {
		line = append(line, names[path[i]]...)
		if i > 0 {
			line = append(line, ';')
		}
	}
	return line
}

// vocabulary returns count different names of about 27 bytes.
func vocabulary(count int) []string {
	spaces := []string{"net::http", "std", "runtime", "core::io", "absl", "v8", "app::orders", "db::index"}
	types := []string{"Scheduler", "BufferPool", "HashTable", "RequestParser", "Allocator", "Iterator", "Connection",
		"TransactionLog", "Visitor"}
	verbs := []string{"insert", "flush", "next", "allocate_slow", "dispatch", "resolve", "operator()", "read_header",
		"commit", "lookup", "grow"}
	names := make([]string, count)
	for i := range names {
		names[i] = spaces[i%8] + "::" + types[i/8%9] + "::" + verbs[i/72%11] + "_" + strconv.Itoa(i/792)
	}
	return names
}

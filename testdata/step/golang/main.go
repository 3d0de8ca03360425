// Command golang keeps one goroutine busy: calls, closures, a growing stack, maps, formatting,
// a panic that is recovered.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

//go:noinline
func fib(n int) int {
	if n < 2 {
		return 1
	}
	return fib(n-1) + fib(n-2)
}

//go:noinline
func deep(n int) int {
	var pad [64]int
	pad[n%64] = n
	if n == 0 {
		return pad[0]
	}
	return deep(n-1) + pad[n%64]
}

//go:noinline
func recovered() (err error) {
	defer func() { err = fmt.Errorf("%v", recover()) }()
	var m map[string]int
	m["x"] = 1
	return nil
}

func main() {
	total := fib(8) + deep(60)
	words := strings.Fields("some words to sort here")
	sort.Slice(words, func(i, j int) bool { return words[i] < words[j] })
	counts := map[string]int{}
	for _, w := range words {
		counts[w] += len(w)
	}
	fmt.Fprintln(os.Stdout, total, words, counts, recovered())
}

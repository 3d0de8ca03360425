// Command testsum reads what `go test -json` prints and tells it to a person: each
// package, what failed with its output, and every skipped test with its reason.
//
//	go test -json ./... | testsum
//	testsum -total LOG...
//
// Without arguments it reads one run from standard input as it goes on, and ends
// with its count. With -total it reads logs of several runs, lists the skipped
// tests of all, and ends with one count, alone on the last line:
//
//	N passed, N failed, N skipped
//
// It exits with 1 if anything failed, or if nothing ran at all.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	total := flag.Bool("total", false, "sum up the logs named as arguments")
	flag.Parse()
	if *total {
		os.Exit(sumUp(flag.Args(), os.Stdout))
	}
	run := newRun(os.Stdout)
	if err := run.readAll(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(1)
	}
	fmt.Println(run.counts)
	os.Exit(run.counts.status())
}

// sumUp prints the skips and the count of all logs and returns the exit status.
func sumUp(paths []string, w io.Writer) int {
	var all counts
	for _, path := range paths {
		run := newRun(io.Discard)
		if err := readFile(run, path); err != nil {
			fmt.Fprintln(os.Stderr, "testsum:", err)
			return 1
		}
		for _, s := range run.skips {
			fmt.Fprintln(w, s)
		}
		all.add(run.counts)
	}
	fmt.Fprintln(w, all)
	return all.status()
}

func readFile(run *run, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return run.readAll(bufio.NewReader(f))
}

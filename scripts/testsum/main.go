// Command testsum reads what `go test -json` prints and tells it to a person: each
// package, what failed with its output, and every skipped test with its reason.
//
//	go test -json ./... | testsum
//	testsum -total LOG...
//	testsum -again LOG
//
// Without arguments it reads one run from standard input as it goes on, and ends
// with its count. With -total it reads logs of several runs, lists the skipped
// tests of all, and ends with one count, alone on the last line:
//
//	N passed, N failed, N skipped
//
// With -again it prints the pattern for `go test -run` of the tests that failed in a log, if they are
// few and may be tried once more, and exits with 1 if not. What X.again.json then tells of a test that
// failed in X.json counts in its place, and is listed as unsteady: such a test, or what it tests, is to
// be mended, but no job has to be lost to it.
//
// It exits with 1 if anything failed, or if nothing ran at all.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

func main() {
	total := flag.Bool("total", false, "sum up the logs named as arguments")
	again := flag.Bool("again", false, "print which tests of the log may be tried once more")
	flag.Parse()
	switch {
	case *total:
		os.Exit(sumUp(flag.Args(), os.Stdout))
	case *again:
		os.Exit(printAgain(flag.Arg(0), os.Stdout))
	}
	run := newRun(os.Stdout)
	if err := run.readAll(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(1)
	}
	fmt.Println(run.counts)
	os.Exit(run.counts.status())
}

// sumUp prints the skips, the unsteady tests and the count of all logs and returns the exit status.
func sumUp(paths []string, w io.Writer) int {
	var all counts
	for _, path := range paths {
		if strings.HasSuffix(path, againSuffix) {
			continue
		}
		run := newRun(io.Discard)
		if err := readFile(run, path); err != nil {
			fmt.Fprintln(os.Stderr, "testsum:", err)
			return 1
		}
		second := newRun(io.Discard)
		if err := readFile(second, strings.TrimSuffix(path, ".json")+againSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintln(os.Stderr, "testsum:", err)
			return 1
		}
		for _, s := range append(run.skips, run.amend(second)...) {
			fmt.Fprintln(w, s)
		}
		all.add(run.counts)
	}
	fmt.Fprintln(w, all)
	return all.status()
}

// printAgain prints which tests of the log at path may be tried once more, and returns the exit status.
func printAgain(path string, w io.Writer) int {
	run := newRun(io.Discard)
	if err := readFile(run, path); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		return 1
	}
	pattern, ok := run.again()
	if !ok {
		return 1
	}
	fmt.Fprintln(w, pattern)
	return 0
}

func readFile(run *run, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return run.readAll(bufio.NewReader(f))
}

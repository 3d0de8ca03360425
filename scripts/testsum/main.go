// Command testsum reads what `go test -json` prints and reports it to a person: each
// package, what failed with its output, and every skipped test with its reason.
//
//	go test -json ./... | testsum
//	testsum -total [-live FILE] LOG...
//	testsum -again -live FILE LOG
//	testsum -unsteady TEXT...
//	testsum -slow N LOG...
//
// Without arguments it reads one run from standard input as it goes on, and ends
// with its count. With -total it reads logs of several runs, lists the skipped
// tests of all, and ends with one count, alone on the last line:
//
//	N passed, N failed, N skipped
//
// With -again it prints the pattern for `go test -run` of the tests that failed in a log and may be tried
// once more, and exits with 1 if there are none. Only tests of live processes may, if they are few: FILE lists
// them, one package or one package and test a line. What X.again.json then says of such a test that failed
// in X.json counts in its place, and is listed as unsteady: such a test, or what it tests, is to be fixed,
// but no job has to be lost to it.
//
// With -unsteady it reads what -total printed for several runs, prints in how many of them each test was
// unsteady, and exits with 1 if one was twice: that one is to be fixed now.
//
// With -slow it lists the N tests that took longest.
//
// Where the variable CI is set, a test that is skipped because a tool is missing has failed: scripts/setup
// brings all that the tests need.
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
	unsteady := flag.Bool("unsteady", false, "count in how many runs tests were unsteady")
	slow := flag.Int("slow", 0, "list that many tests of the logs, the slowest first")
	list := flag.String("live", "", "`file` that lists the tests of live processes")
	flag.Parse()
	l := live{}
	if *list != "" {
		var err error
		if l, err = readLive(*list); err != nil {
			fmt.Fprintln(os.Stderr, "testsum:", err)
			os.Exit(1)
		}
	}
	switch {
	case *total:
		os.Exit(sumUp(flag.Args(), l, os.Stdout))
	case *again:
		os.Exit(printAgain(flag.Arg(0), l, os.Stdout))
	case *unsteady:
		os.Exit(countUnsteady(flag.Args(), os.Stdout))
	case *slow > 0:
		if err := listSlow(flag.Args(), *slow, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "testsum:", err)
			os.Exit(1)
		}
		return
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
func sumUp(paths []string, l live, w io.Writer) int {
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
		if err := readFile(second, strings.TrimSuffix(path, ".json")+againSuffix); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintln(os.Stderr, "testsum:", err)
			return 1
		}
		for _, s := range run.skips {
			fmt.Fprintln(w, s)
		}
		for _, key := range run.amend(second, l) {
			fmt.Fprintf(w, unsteadyLine, key)
		}
		all.add(run.counts)
	}
	fmt.Fprintln(w, all)
	return all.status()
}

// printAgain prints which tests of the log at path may be tried once more, and returns the exit status.
func printAgain(path string, l live, w io.Writer) int {
	run := newRun(io.Discard)
	if err := readFile(run, path); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		return 1
	}
	pattern, ok := run.again(l)
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

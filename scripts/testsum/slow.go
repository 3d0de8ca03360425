package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// timed is how long one test took, without its subtests being counted apart. One that goes on beside others took
// some of that time from its CPUs.
type timed struct {
	key     string // package and test
	seconds float64
	beside  bool // others ran at the same time
}

// listSlow prints the n tests of the logs at paths that took longest, and how long those took that let no other run.
func listSlow(paths []string, n int, w io.Writer) error {
	var all []timed
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		some, err := readTimes(f)
		f.Close()
		if err != nil {
			return fmt.Errorf("read %q: %w", path, err)
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b timed) int {
		switch {
		case a.seconds > b.seconds:
			return -1
		case a.seconds < b.seconds:
			return 1
		}
		return strings.Compare(a.key, b.key)
	})
	alone := 0.0
	for i, t := range all {
		mark := ""
		if t.beside {
			mark = " beside others"
		} else {
			alone += t.seconds
		}
		if i < n {
			fmt.Fprintf(w, "%7.1f s  %s%s\n", t.seconds, t.key, mark)
		}
	}
	fmt.Fprintf(w, "%7.1f s  in all of those that let no other of their package run\n", alone)
	return nil
}

// readTimes reads what go test -json printed.
func readTimes(r io.Reader) ([]timed, error) {
	var out []timed
	paused := map[string]bool{}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil && e.Test != "" && !strings.Contains(e.Test, "/") {
			key := e.Package + " " + e.Test
			switch e.Action {
			case "pause":
				paused[key] = true
			case "pass", "fail":
				out = append(out, timed{key, e.Elapsed, paused[key]})
			}
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
}

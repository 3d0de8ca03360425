//go:build linux

package v8

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
)

// results are the verdicts of this run, for the table of docs/runtimes.md.
var results = table{}

// table is by version and mode.
type table map[string]map[string]map[verdict]int

func (t table) add(version, mode string, counts map[verdict]int) {
	if t[version] == nil {
		t[version] = map[string]map[verdict]int{}
	}
	if t[version][mode] == nil {
		t[version][mode] = map[verdict]int{}
	}
	for v, k := range counts {
		t[version][mode][v] += k
	}
}

// print writes the table as docs have it: samples that are right of those with JavaScript, those of which only the
// innermost line is not sure, and those that say that they end in the deoptimizer.
func (t table) print() {
	fmt.Print("| node | mode | samples | right | line unsure | unsure | cut | not named | wrong |\n" +
		"|---|---|---|---|---|---|---|---|---|\n")
	for _, version := range slices.Sorted(maps.Keys(t)) {
		for _, mode := range slices.Sorted(maps.Keys(t[version])) {
			c := t[version][mode]
			said := c[deoptimized] + c[cut]
			all := c[right] + c[vague] + c[unsure] + said + c[unnamed] + c[wrong]
			fmt.Printf("| %s | %s | %d | %d | %d | %d | %d | %d | %d |\n", version, mode, all, c[right], c[vague],
				c[unsure], said, c[unnamed], c[wrong])
		}
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	status := m.Run()
	if *full || testing.Verbose() {
		results.print()
	}
	os.Exit(status)
}

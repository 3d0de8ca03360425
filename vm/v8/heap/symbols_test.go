package heap

import (
	"debug/elf"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/symbols again, from testdata/bin/node")

// binaries is where scripts/build-node puts node, below a folder named by the version.
const binaries = "../../../testdata/bin/node"

// exported returns the symbols of the file that [Read] may ask for.
func exported(t *testing.T, path string) map[string]int32 {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int32{}
	for _, s := range symbols {
		known := strings.HasPrefix(s.Name, debugPrefix) || strings.HasPrefix(s.Name, versionPrefix)
		if !known || int(s.Section) >= len(file.Sections) {
			continue
		}
		section := file.Sections[s.Section]
		var b [4]byte
		if section.Type != elf.SHT_NOBITS { // what lies in .bss is 0
			if _, err := section.ReadAt(b[:], int64(s.Value-section.Addr)); err != nil {
				t.Fatalf("%s: %v", s.Name, err)
			}
		}
		out[s.Name] = int32(binary.LittleEndian.Uint32(b[:]))
	}
	return out
}

// asked are the symbols that Read asks for in any of the versions.
func asked(t *testing.T, of map[string]map[string]int32) []string {
	seen := map[string]bool{}
	for node, symbols := range of {
		_, err := Read(func(s string) (int32, bool) {
			v, ok := symbols[s]
			seen[s] = seen[s] || ok
			return v, ok
		})
		if err != nil {
			t.Errorf("node %s: %v", node, err)
		}
	}
	maps.DeleteFunc(seen, func(_ string, has bool) bool { return !has })
	return slices.Sorted(maps.Keys(seen))
}

// TestSymbols compares testdata/symbols with the binaries that are there.
func TestSymbols(t *testing.T) {
	of := map[string]map[string]int32{}
	for _, node := range nodes {
		path := filepath.Join(binaries, node, "bin/node")
		if _, err := os.Stat(path); err == nil {
			of[node] = exported(t, path)
		}
	}
	if len(of) == 0 {
		t.Skip("scripts/build-node has not been run: no node in testdata/bin/node")
	}
	if *update {
		if len(of) < len(nodes) {
			t.Fatalf("%d of %d versions are there", len(of), len(nodes))
		}
		writeSymbols(t, of)
	}
	for node, symbols := range of {
		was := recorded(t, node)
		_, _ = Read(func(s string) (int32, bool) {
			v, ok := symbols[s]
			if had, hadIt := was[s]; v != had || ok != hadIt {
				t.Errorf("node %s: %s is %d, %v; recorded as %d, %v", node, s, v, ok, had, hadIt)
			}
			return v, ok
		})
	}
}

func writeSymbols(t *testing.T, of map[string]map[string]int32) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# What official builds of Node.js for linux-x64 export, of the symbols that Read asks for.\n" +
		"# One column a version; - is a symbol that it does not have.\n" +
		"# Made by: go test ./vm/v8/heap -run TestSymbols -update\n")
	fmt.Fprintf(&b, "symbol %s\n", strings.Join(nodes, " "))
	for _, s := range asked(t, of) {
		b.WriteString(strings.TrimPrefix(s, debugPrefix))
		for _, node := range nodes {
			if v, ok := of[node][s]; ok {
				fmt.Fprintf(&b, " %d", v)
			} else {
				b.WriteString(" -")
			}
		}
		b.WriteString("\n")
	}
	if err := os.WriteFile("testdata/symbols", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

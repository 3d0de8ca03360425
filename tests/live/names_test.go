//go:build linux

package live

import (
	"debug/elf"
	"path/filepath"
	"strings"
	"testing"
)

// compareNames compares the functions of frames with the same addresses. Where both sides
// have a name it must be the same, or another name of the same address: which alias is
// shown is a rule of ours (docs/dev/peers.md), and the peers have theirs.
func compareNames(t *testing.T, d *dump, ours []frame, theirs []place) {
	t.Helper()
	for i, f := range ours {
		want, _, _ := strings.Cut(strings.TrimSuffix(theirs[i].name, ".abi0"), "@")
		got := f.Linkage
		if got == "" {
			got = f.Function
		}
		if got == "" || want == "" || got == want || f.Module == nil {
			continue
		}
		if f.Kind == javascript && strings.HasPrefix(want, "Builtins_") {
			continue // what V8's own code executes for JavaScript, or that code without the prefix
		}
		symbols := symbolsOf(d.Modules[*f.Module].Path, d.Modules[*f.Module].BuildID)
		if !symbols.alias(got, want) {
			t.Errorf("frame %d at %s of %q: function %q, and %q in eu-stack", i, f.Address,
				d.Modules[*f.Module].Path, got, want)
		}
	}
}

// javascript is the kind of frames that V8's code executes.
const javascript = "javascript"

// symbols are the addresses that have a name.
type symbols map[string][]uint64

func (s symbols) alias(a, b string) bool {
	for _, x := range s[a] {
		for _, y := range s[b] {
			if x == y {
				return true
			}
		}
	}
	return false
}

var symbolCache = map[string]symbols{}

// symbolsOf reads the symbols of an object and of the debug file with its build id.
func symbolsOf(path, buildID string) symbols {
	if s, ok := symbolCache[path]; ok {
		return s
	}
	s := symbols{}
	s.add(path)
	if len(buildID) > 2 {
		s.add(filepath.Join("/usr/lib/debug/.build-id", buildID[:2], buildID[2:]+".debug"))
	}
	symbolCache[path] = s
	return s
}

func (s symbols) add(path string) {
	f, err := elf.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	static, _ := f.Symbols()
	dynamic, _ := f.DynamicSymbols()
	for _, symbol := range append(static, dynamic...) {
		name, _, _ := strings.Cut(symbol.Name, "@")
		s[name] = append(s[name], symbol.Value)
	}
}

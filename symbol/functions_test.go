package symbol

import (
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/tests/harness"
)

// The expectation is what nm says of the same file: its t, T, W, w and i symbols with a size.
func TestFunctionsAgreeWithNM(t *testing.T) {
	harness.Need(t, "nm")
	for _, tt := range []struct {
		name, table string
		flags       []string
	}{
		{"program with symbols", ".symtab", []string{"-S"}},
		{"library with exports alone", ".dynsym", []string{"-S", "-D"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := libc(t)
			if tt.table == ".symtab" {
				path = compile(t, "gcc", "p.c", functionsSource, "-O2")
			}
			want := map[module.Vaddr]module.Vaddr{}
			for line := range strings.Lines(harness.Output(t, "nm", append(tt.flags, path)...)) {
				f := strings.Fields(line)
				if len(f) != 4 || !strings.Contains("tTwWi", f[2]) || strings.Contains(f[3], ".cold") {
					continue
				}
				start, _ := strconv.ParseUint(f[0], 16, 64)
				size, _ := strconv.ParseUint(f[1], 16, 64)
				want[module.Vaddr(start)] = module.Vaddr(start + size)
			}
			got, err := New(load(t, path)).Functions(tt.table, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for i, f := range got {
				if i > 0 && got[i-1].Start >= f.Start {
					t.Fatalf("%#x follows %#x", f.Start, got[i-1].Start)
				}
				if _, ok := want[f.Start]; ok {
					found++
				} else if tt.table == ".dynsym" {
					t.Errorf("function at %#x, which nm does not list", f.Start)
				}
			}
			if found != len(want) || found == 0 {
				t.Errorf("%d functions of the %d that nm lists", found, len(want))
			}
		})
	}
}

const functionsSource = `#include <stdlib.h>
#include <stdio.h>
__attribute__((noinline)) static int inner(int n) { if (n < 0) abort(); return n * 3; }
int outer(int n) { return inner(n) + inner(n + 1); }
int main(int argc, char **argv) { printf("%d %s\n", outer(argc), argv[0]); return 0; }
`

func TestFunctionsAreBounded(t *testing.T) {
	all, err := New(load(t, libc(t))).Functions(".dynsym", 1<<20)
	if err != nil || len(all) < 100 {
		t.Fatalf("%d functions, %v", len(all), err)
	}
	some, err := New(load(t, libc(t))).Functions(".dynsym", 10)
	if len(some) > 10 || err == nil || !strings.Contains(err.Error(), "more than 10") {
		t.Errorf("%d functions of 10 asked for, %v", len(some), err)
	}
	none, err := New(load(t, libc(t))).Functions(".symtab", 10)
	if len(none) != 0 || err != nil {
		t.Errorf("a table that is not there: %d functions, %v", len(none), err)
	}
}

func TestIsPart(t *testing.T) {
	for name, want := range map[string]bool{"f.cold": true, "f.cold.1": true, "f.part.0": false, "scold": false,
		"": false} {
		if got := isPart([]byte(name)); got != want {
			t.Errorf("isPart(%q): got %v, want %v", name, got, want)
		}
	}
}

package symbol

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/tests/harness"
)

const callers = `
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <math.h>
typedef void (*fn)(void *);
int main(int n, char **v) {
	fn release = free;
	void *p = malloc(n);
	if (n > 1) { puts(v[0]); qsort(v, n, sizeof *v, (int (*)(const void *, const void *))strcmp); abort(); }
	free(p);
	release(0);
	return getenv("X") != 0;
}
`

// objdump makes the names of stubs from relocations too, by code of its own.
func TestStubNamesAreThoseOfObjdump(t *testing.T) {
	harness.Need(t, "objdump")
	const arm64, protected = "aarch64-linux-gnu-", "-mbranch-protection=standard"
	for _, c := range []struct {
		name    string
		options []string
		least   int
		tools   string
	}{
		{"arm64", []string{"-O0"}, 5, arm64},
		{"arm64, not position independent", []string{"-O0", "-no-pie"}, 5, arm64},
		{"arm64, with bti", []string{"-O0", protected, "-Wl,-z,force-bti"}, 5, arm64},
		{"arm64, signed", []string{"-O0", protected, "-Wl,-z,force-bti,-z,pac-plt"}, 5, arm64},
		{"arm64, static", []string{"-O0", "-static"}, 0, arm64},
		{"bound at start", []string{"-O0"}, 5, ""},
		{"bound lazily", []string{"-O0", "-Wl,-z,lazy"}, 5, ""},
		{"not position independent", []string{"-O0", "-no-pie", "-Wl,-z,lazy"}, 5, ""},
		{"with endbr", []string{"-O0", "-fcf-protection=full", "-Wl,-z,ibtplt", "-Wl,-z,lazy"}, 5, ""},
		{"32 bits", []string{"-O0", "-m32", "-Wl,-z,lazy"}, 5, ""},
		{"32 bits, not position independent", []string{"-O0", "-m32", "-no-pie", "-Wl,-z,lazy"}, 5, ""},
		{"32 bits, with endbr", []string{"-O0", "-m32", "-fcf-protection=full", "-Wl,-z,ibtplt"}, 5, ""},
		{"lld", []string{"-O0", "-fuse-ld=lld"}, 5, ""},
		{"static, IFUNC only", []string{"-O0", "-static"}, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := compile(t, c.tools+"gcc", "a.c", callers, c.options...)
			m := load(t, path)
			s := &stubs{m: m, table: New(m)}
			compared := 0
			said := harness.Output(t, c.tools+"objdump", "-d", path)
			for sc := bufio.NewScanner(strings.NewReader(said)); sc.Scan(); {
				var v uint64
				var want string
				if n, _ := fmt.Sscanf(sc.Text(), "%x <%s", &v, &want); n != 2 || !strings.HasSuffix(want, "@plt>:") {
					continue
				}
				want = strings.TrimSuffix(want, ">:")
				if strings.HasPrefix(want, "*ABS*") {
					continue // objdump gives the resolver's address alone
				}
				for off := module.Vaddr(0); off < 8; off++ {
					got := s.name(module.Vaddr(v) + off)
					if got == nil || got.Name != want || got.Start != module.Vaddr(v) {
						t.Errorf("stub at %#x+%d: got %+v, want %s", v, off, got, want)
					}
				}
				compared++
			}
			if compared < c.least {
				t.Errorf("compared %d stubs, want at least %d", compared, c.least)
			}
		})
	}
}

// In a static program the slots are filled by resolvers, whose symbol is the function's.
func TestStubsOfResolvers(t *testing.T) {
	path := compile(t, "gcc", "a.c", callers, "-O0", "-static")
	m := load(t, path)
	sec, ok := m.Section(".plt")
	if !ok {
		t.Skip("this linker made no .plt")
	}
	ifuncs := map[string]bool{}
	for _, s := range readelf(t, path, ".symtab") {
		if s.typ == "IFUNC" {
			ifuncs[s.name] = true
		}
	}
	s := &stubs{m: m, table: New(m)}
	named := 0
	for v := sec.Addr; v < sec.Addr+module.Vaddr(sec.Size); v += module.Vaddr(stubSize(&sec)) {
		got := s.name(v)
		if got == nil {
			continue
		}
		if name, _ := strings.CutSuffix(got.Name, "@plt"); !ifuncs[name] {
			t.Errorf("stub at %#x: got %q, not an IFUNC of the program", v, got.Name)
		}
		named++
	}
	if named < 5 {
		t.Errorf("named %d stubs, want at least 5", named)
	}
}

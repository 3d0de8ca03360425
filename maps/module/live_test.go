package module_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/tests/harness"
)

const markerSource = `
#include <stdio.h>
#include <unistd.h>
int marker(int x) { return x + 1; }
int main(int argc, char **argv) {
	char c;
	printf("%p\n", (void *)marker);
	fflush(stdout);
	read(0, &c, 1);
	return marker(argc);
}`

// links are the ways to lay out a program that make the bias hard to find.
var links = []struct {
	name     string
	compiler string
	options  []string
}{
	{"position independent", "gcc", nil},
	{"fixed address", "gcc", []string{"-no-pie"}},
	{"static", "gcc", []string{"-static"}},
	{"static, position independent", "gcc", []string{"-static-pie"}},
	{"32 bits", "gcc", []string{"-m32"}},
	{"32 bits, static", "gcc", []string{"-m32", "-static"}},
	{"musl static", "musl-gcc", []string{"-static"}},
	{"code and constants in one segment", "gcc", []string{"-Wl,-z,noseparate-code"}},
	{"segments aligned to 2 MiB", "gcc", []string{"-Wl,-z,max-page-size=0x200000", "-Wl,-z,noseparate-code"}},
	{"segments aligned to 2 MiB, fixed address", "gcc", []string{"-no-pie", "-Wl,-z,max-page-size=0x200000"}},
	{"gold", "gcc", []string{"-fuse-ld=gold"}},
	{"lld, segments share pages of the file", "clang", []string{"-fuse-ld=lld"}},
	{"lld, pages of 64 KiB", "clang", []string{"-fuse-ld=lld", "-Wl,-z,max-page-size=65536"}},
	{"lld, segments apart", "clang", []string{"-fuse-ld=lld", "-Wl,-z,separate-loadable-segments"}},
	{"lld, constants with code", "clang", []string{"-fuse-ld=lld", "-Wl,--no-rosegment"}},
	{"linked at a high address", "gcc", []string{"-no-pie", "-Wl,-Ttext-segment=0x10000000"}},
	{"position independent, linked at a high address", "gcc", []string{"-Wl,-Ttext-segment=0x3000000"}},
}

// TestBiasOfLiveProgram takes the address of a function from the program itself and its
// link address from nm, and compares code in memory with that of the file.
func TestBiasOfLiveProgram(t *testing.T) {
	harness.Need(t, "nm")
	for _, link := range links {
		t.Run(link.name, func(t *testing.T) {
			program := compile(t, link.compiler, markerSource, "program", link.options...)
			p := start(t, program)
			addr := parseHex(t, p.line)
			want := nm(t, program, "marker")
			for _, row := range []struct {
				name string
				open module.Opener
			}{{"from the file", openFile}, {"from memory", nil}} {
				t.Run(row.name, func(t *testing.T) {
					s, memory := set(t, p.pid, row.open)
					m := s.Find(mem.Addr(addr))
					if m == nil || m.Err != nil {
						t.Fatalf("Find(%#x) = %+v, want a module", addr, m)
					}
					if got := m.Vaddr(mem.Addr(addr)); got != want {
						t.Errorf("Vaddr(%#x) = %#x, nm says %#x", addr, got, want)
					}
					if m.Start() > mem.Addr(addr) || m.End() <= mem.Addr(addr) || m.Name() != "program" {
						t.Errorf("%q at [%#x, %#x) does not hold %#x", m.Name(), m.Start(), m.End(), addr)
					}
					if compareText(t, s, memory) == 0 {
						t.Error("no code was compared")
					}
					if row.open == nil {
						compareWithFile(t, m, program)
					}
				})
			}
		})
	}
}

// compareText compares code of every file of the process with what is in memory, and
// returns how many pieces there were.
func compareText(t *testing.T, s *module.Set, memory mem.Reader) (checked int) {
	t.Helper()
	for _, mp := range s.Table().All() {
		if mp.Perm&maps.Exec == 0 || !mp.IsFile() {
			continue
		}
		for addr := mp.Start; addr < mp.End; addr += (mp.End - mp.Start) / 16 {
			m := s.Find(addr)
			if m == nil || m.Err != nil {
				t.Errorf("Find(%#x) in %q = %+v, want a module", addr, mp.Path, m)
				break
			}
			text, ok := m.Text(m.Vaddr(addr))
			if !ok {
				continue // the page's rest before or behind the segment
			}
			text = text[:min(16, len(text))]
			b := make([]byte, len(text))
			if _, err := memory.ReadMem(b, addr); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b, text) {
				t.Errorf("text of %q at %#x = %x, memory has %x", mp.Path, addr, text, b)
			}
			checked++
		}
	}
	return checked
}

// compareWithFile compares what was read from memory with the file's own section table.
func compareWithFile(t *testing.T, m *module.Module, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, file := fileModule(data, 0x10000)
	for _, name := range []string{".eh_frame_hdr", ".eh_frame", ".dynsym", ".dynstr", ".gnu.hash", ".hash"} {
		want, ok := file.Section(name)
		if !ok {
			continue
		}
		if _, has := file.Section(".eh_frame_hdr"); !has && name == ".eh_frame" {
			continue // nothing leads to it
		}
		got, ok := m.Section(name)
		if !ok || got.Addr != want.Addr || !bytes.HasPrefix(got.Data, want.Data) && name != ".dynsym" {
			t.Errorf("section %s from memory = %v, %#x %d bytes; file has %#x %d bytes", name, ok, got.Addr,
				len(got.Data), want.Addr, len(want.Data))
		}
		if name != ".eh_frame" && len(got.Data) != len(want.Data) {
			t.Errorf("section %s from memory has %d bytes, file has %d", name, len(got.Data), len(want.Data))
		}
	}
	if m.BuildID() != file.BuildID() {
		t.Errorf("build id from memory = %q, file has %q", m.BuildID(), file.BuildID())
	}
}

// TestAuxv compares with the addresses that the kernel gave the program.
func TestAuxv(t *testing.T) {
	for _, program := range []string{"cat", "node", "python3"} {
		t.Run(program, func(t *testing.T) {
			harness.Need(t, program)
			args := map[string][]string{
				"cat":     {"/proc/self/comm", "-"},
				"node":    {"-e", "console.log(1); process.stdin.resume()"},
				"python3": {"-uc", "print(1); input()"},
			}[program]
			p := start(t, program, args...)
			s, memory := set(t, p.pid, openFile)
			aux := auxv(t, p.pid)
			if m := s.Find(mem.Addr(aux[9])); m == nil || m.Addr(m.Entry()) != mem.Addr(aux[9]) { // AT_ENTRY
				t.Errorf("entry of the program is not %#x: %+v", aux[9], m)
			}
			if base := aux[7]; base != 0 { // AT_BASE
				if m := s.Find(mem.Addr(base)); m == nil || m.Base() != base {
					t.Errorf("base of the interpreter is not %#x: %+v", base, m)
				}
			}
			vdso := s.Find(mem.Addr(aux[33])) // AT_SYSINFO_EHDR
			if vdso == nil || !vdso.VDSO || vdso.Err != nil || vdso.Base() != aux[33] || vdso.Name() != "[vdso]" {
				t.Fatalf("vDSO at %#x = %+v", aux[33], vdso)
			}
			for _, name := range []string{".eh_frame", ".eh_frame_hdr", ".dynsym", ".text"} {
				if sec, ok := vdso.Section(name); !ok || len(sec.Data) == 0 {
					t.Errorf("vDSO has no %s", name)
				}
			}
			if compareText(t, s, memory) < 16 {
				t.Error("little code was compared")
			}
			if len(s.All()) < 3 {
				t.Errorf("%d modules, want the program, libc and more", len(s.All()))
			}
		})
	}
}

// TestLargePages asks for the code of a program that has moved itself to anonymous memory.
func TestLargePages(t *testing.T) {
	harness.Need(t, "node")
	p := start(t, "node", "--use-largepages=silent", "-e", "console.log(1); process.stdin.resume()")
	s, _ := set(t, p.pid, openFile)
	text := s.Find(mem.Addr(auxv(t, p.pid)[9]))
	for i, mp := range s.Table().All() {
		if mp.IsFile() || mp.Perm&maps.Exec == 0 || i == 0 || mp.Path != "" || mp.End > text.End() {
			continue
		}
		if m := s.Find(mp.Start); m != text {
			t.Errorf("Find(%#x) in large pages = %v, want %q", mp.Start, m, text.Path)
		}
		return
	}
	t.Skip("the kernel gives no large pages here: node left its code in the file's pages")
}

const twiceSource = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/mman.h>
int main(int argc, char **argv) {
	char c;
	void *a = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW), *b = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
	void *data = mmap(0, 4096, PROT_READ, MAP_PRIVATE, open(argv[1], O_RDONLY), 0);
	printf("%p %p %p\n", dlsym(a, "marker"), dlsym(b, "marker"), data);
	fflush(stdout);
	read(0, &c, 1);
	return 0;
}`

func TestLibraryMappedThreeTimes(t *testing.T) {
	harness.Need(t, "nm")
	lib := compile(t, "gcc", "int marker(int x) { return x + 1; }", "libmarker.so", "-shared", "-fPIC")
	p := start(t, compile(t, "gcc", twiceSource, "program"), lib)
	s, _ := set(t, p.pid, openFile)
	want := nm(t, lib, "marker")
	var at [3]uint64
	for i, f := range strings.Fields(p.line) {
		at[i] = parseHex(t, f)
	}
	var mods [3]*module.Module
	for i := range at {
		mods[i] = s.Find(mem.Addr(at[i]))
		if mods[i] == nil || mods[i].Err != nil {
			t.Fatalf("Find(%#x) = %+v", at[i], mods[i])
		}
	}
	for i := range 2 {
		if got := mods[i].Vaddr(mem.Addr(at[i])); got != want {
			t.Errorf("copy %d: Vaddr(%#x) = %#x, nm says %#x", i, at[i], got, want)
		}
	}
	if mods[2].Base() != at[2] {
		t.Errorf("file mapped as data: base %#x, want %#x", mods[2].Base(), at[2])
	}
	if mods[0] == mods[1] || mods[0] == mods[2] || mods[1] == mods[2] {
		t.Error("copies at three places share a Module")
	}
}

const memfdSource = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>
#include <sys/mman.h>
int main(int argc, char **argv) {
	char b[65536], *none[] = {"memfd", 0};
	int from = open(argv[1], O_RDONLY), to = memfd_create("hidden", 0), n;
	while ((n = read(from, b, sizeof b)) > 0) write(to, b, n);
	return fexecve(to, none, none);
}`

func TestProgramWithoutFile(t *testing.T) {
	harness.Need(t, "nm")
	program := compile(t, "gcc", markerSource, "program")
	p := start(t, compile(t, "gcc", memfdSource, "loader"), program)
	addr := mem.Addr(parseHex(t, p.line))
	s, _ := set(t, p.pid, openFile)
	m := s.Find(addr)
	if m == nil || m.Err != nil || !m.Deleted || m.Path != "/memfd:hidden" {
		t.Fatalf("Find(%#x) = %+v, want the module /memfd:hidden", addr, m)
	}
	if got, want := m.Vaddr(addr), nm(t, program, "marker"); got != want {
		t.Errorf("Vaddr(%#x) = %#x, nm says %#x", addr, got, want)
	}
	if other := s.Find(m.Start()); other != m {
		t.Errorf("the first mapping has another Module than the code")
	}
	compareWithFile(t, m, program)
}

func parseHex(t *testing.T, s string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// nm returns the link address of a symbol.
func nm(t *testing.T, path, symbol string) module.Vaddr {
	t.Helper()
	for line := range strings.Lines(harness.Output(t, "nm", path)) {
		if f := strings.Fields(line); len(f) == 3 && f[2] == symbol {
			return module.Vaddr(parseHex(t, f[0]))
		}
	}
	t.Fatalf("nm %s: no %s", path, symbol)
	return 0
}

// auxv reads the auxiliary vector of a 64-bit process: see getauxval(3).
func auxv(t *testing.T, pid int) map[uint64]uint64 {
	t.Helper()
	if strconv.IntSize != 64 {
		t.Skip("reads vectors of 64-bit programs only")
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		t.Fatal(err)
	}
	out := map[uint64]uint64{}
	for ; len(b) >= 16; b = b[16:] {
		out[binary.NativeEndian.Uint64(b)] = binary.NativeEndian.Uint64(b[8:])
	}
	return out
}

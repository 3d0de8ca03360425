package dwarf

import (
	"debug/elf"
	"fmt"

	"github.com/fpstack/fpstack/tests/harness"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// command runs a tool in dir and returns what it wrote. A compiler that does not know its options skips
// the test.
func command(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	harness.Need(t, name)
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("%s %s does not work here: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// source copies files of testdata to dir.
func source(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// object reads the sections of an ELF file, inflated by debug/elf. Code lies where that of code is.
func object(t testing.TB, path string, code *elf.File) Object {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if code == nil {
		code = f
	}
	o := Object{Low: ^uint64(0), Big: f.Data == elf.ELFDATA2MSB, Section: func(name string) ([]byte, error) {
		s := f.Section(name)
		if s == nil || s.Type == elf.SHT_NOBITS {
			return nil, nil
		}
		return s.Data()
	}}
	for _, s := range code.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 {
			o.Low, o.High = min(o.Low, s.Addr), max(o.High, s.Addr+s.Size)
		}
	}
	return o
}

// open returns the DWARF of a program, and opens .dwo files where the units say.
func open(t testing.TB, path string) *Data {
	t.Helper()
	code, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { code.Close() })
	o := object(t, path, nil)
	o.Split = func(k Skeleton) (*Data, error) {
		name := k.Name
		if !filepath.IsAbs(name) {
			name = filepath.Join(k.CompDir, name)
		}
		if _, err := os.Stat(name); err != nil {
			return nil, err
		}
		return NewSplit(object(t, name, code)), nil
	}
	return New(o)
}

// addresses returns n random ones in the .text of a program, each once and ascending.
func addresses(t testing.TB, path string, n int) []uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := f.Section(".text")
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[uint64]bool{}
	for range n {
		seen[s.Addr+r.Uint64N(s.Size)] = true
	}
	out := make([]uint64, 0, n)
	for v := range seen {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// call is one line of a peer's answer.
type call struct {
	name, file string
	line       int
}

func (c call) String() string { return fmt.Sprintf("%s %s:%d", c.name, c.file, c.line) }

// where splits "file:line:column" or "file:line (discriminator 2)". Peers write ? for what they do not know.
func where(s string, columns int) (file string, line int) {
	s, _, _ = strings.Cut(s, " (discriminator")
	parts := strings.Split(s, ":")
	n := len(parts) - columns
	if n < 1 {
		return s, 0
	}
	fmt.Sscan(parts[n], &line)
	if file = strings.Join(parts[:n], ":"); file == "??" {
		file = ""
	}
	return file, line
}

func feed(t testing.TB, addrs []uint64, name string, args ...string) string {
	t.Helper()
	harness.Need(t, name)
	var in strings.Builder
	for _, v := range addrs {
		fmt.Fprintf(&in, "%#x\n", v)
	}
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out)
}

func known(name string) string {
	if name == "??" {
		return ""
	}
	return name
}

// addr2line asks GNU addr2line.
func addr2line(t testing.TB, path string, addrs []uint64) [][]call {
	t.Helper()
	out := make([][]call, 0, len(addrs))
	lines := strings.Split(strings.TrimSpace(feed(t, addrs, "addr2line", "-a", "-i", "-f", "-e", path)), "\n")
	for i := 0; i < len(lines); {
		if strings.HasPrefix(lines[i], "0x") {
			out = append(out, nil)
			i++
			continue
		}
		file, line := where(lines[i+1], 1)
		last := &out[len(out)-1]
		*last = append(*last, call{known(lines[i]), file, line})
		i += 2
	}
	if len(out) != len(addrs) {
		t.Fatalf("addr2line answered for %d addresses of %d", len(out), len(addrs))
	}
	return out
}

// llvmSymbolizer asks llvm-symbolizer.
func llvmSymbolizer(t testing.TB, path string, addrs []uint64) [][]call {
	t.Helper()
	out := make([][]call, 0, len(addrs))
	text := feed(t, addrs, "llvm-symbolizer", "--obj="+path, "--functions=linkage", "--no-demangle", "--inlines")
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		var calls []call
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		for i := 0; i+1 < len(lines); i += 2 {
			file, line := where(lines[i+1], 2)
			calls = append(calls, call{known(lines[i]), file, line})
		}
		out = append(out, calls)
	}
	if len(out) != len(addrs) {
		t.Fatalf("llvm-symbolizer answered for %d addresses of %d", len(out), len(addrs))
	}
	return out
}

package x86

import (
	"bufio"
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// section returns the code of one ELF section, and skips the test where the file is not installed.
func section(t testing.TB, path, name string) *Code {
	t.Helper()
	f, err := elf.Open(path)
	if os.IsNotExist(err) {
		t.Skipf("%s is not installed", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := f.Section(name)
	if s == nil {
		t.Fatalf("%s has no section %s", path, name)
	}
	data, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	return &Code{Start: s.Addr, Data: data, Mode64: f.Class == elf.ELFCLASS64}
}

// listing calls visit for each instruction that objdump sees in c, of the file's section.
func listing(t testing.TB, path, name string, c *Code, visit func(addr uint64, length int, text string)) {
	t.Helper()
	tool, err := exec.LookPath("objdump")
	if err != nil {
		t.Skip("objdump is not installed: no independent decoder to compare with")
	}
	stop := "--stop-address=" + strconv.FormatUint(c.End(), 10)
	cmd := exec.Command(tool, "-d", "-z", "-w", "--no-show-raw-insn", "-j", name, stop, path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer io.Copy(io.Discard, out)
	last, text := uint64(0), ""
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		place, rest, found := strings.Cut(lines.Text(), ":\t")
		addr, err := strconv.ParseUint(strings.TrimSpace(place), 16, 64)
		if !found || err != nil {
			continue
		}
		if text != "" {
			visit(last, int(addr-last), text)
		}
		last, text = addr, rest
	}
	if text != "" && c.Contains(last) {
		visit(last, int(c.End()-last), text)
	}
}

// TestLengthsAgainstObjdump decodes every instruction of whole libraries. Differences are
// explained by the columns: objdump prints fwait and the x87 instruction behind it as one
// (fstcw for 9b d9 /7). Data inside the code (tables of libcrypto) it shows as (bad), as .byte
// where a symbol cuts it, as a bare prefix, as a REX prefix in front of VEX (#UD) or as jmpw,
// whose length Intel and AMD do not agree on.
func TestLengthsAgainstObjdump(t *testing.T) {
	const libs = "/usr/lib/x86_64-linux-gnu/"
	for _, test := range []struct {
		name, path, section string
		limit               int // bytes looked at; 0: all
		long                bool
	}{
		{"libc", libs + "libc.so.6", ".text", 0, false},
		{"libc plt", libs + "libc.so.6", ".plt", 0, false},
		{"libdav1d, AVX-512", libs + "libdav1d.so.6", ".text", 0, false},
		{"libc 386", "/lib32/libc.so.6", ".text", 0, false},
		{"libcrypto", libs + "libcrypto.so.3", ".text", 0, true},
		{"libstdc++", libs + "libstdc++.so.6", ".text", 0, true},
		{"node", firstOf("/usr/lib/x86_64-linux-gnu/libnode.so.108", "/usr/bin/node"), ".text", 6 << 20, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.long && testing.Short() {
				t.Skip("long: millions of instructions")
			}
			c := section(t, test.path, test.section)
			if test.limit > 0 && len(c.Data) > test.limit {
				c.Data = c.Data[:test.limit]
			}
			checkLengths(t, test.path, test.section, c)
		})
	}
}

func checkLengths(t *testing.T, path, name string, c *Code) {
	var total, fwait, bad, bare, wrong int
	listing(t, path, name, c, func(addr uint64, length int, text string) {
		total++
		in, ok := c.decode(addr)
		switch {
		case ok && in.n == length:
		case strings.Contains(text, "(bad)"):
			bad++
		case ok && in.n == 1 && in.op == 0x9b:
			fwait++
		case isBarePrefix(text), strings.HasPrefix(text, ".byte"), !ok &&
			(strings.HasPrefix(text, "rex") || strings.HasPrefix(text, "jmpw")):
			bare++
		default:
			wrong++
			if wrong <= 20 {
				t.Errorf("%#x: % x  %s: got length %d (%v), want %d", addr, c.at(addr)[:min(length, len(c.at(addr)))],
					text, in.n, ok, length)
			}
		}
	})
	t.Logf("%d instructions, %d with fwait in front, %d bad and %d otherwise no instruction, in data, %d wrong", total,
		fwait, bad, bare, wrong)
	if total == 0 {
		t.Error("objdump listed nothing")
	}
}

// isBarePrefix reports a line of objdump that holds prefixes and no instruction: data, or the
// end of the range it was asked for.
func isBarePrefix(text string) bool {
	for word := range strings.FieldsSeq(text) {
		switch word {
		case "lock", "repz", "repnz", "data16", "addr32", "cs", "ds", "es", "fs", "gs", "ss":
		default:
			if !strings.HasPrefix(word, "rex") {
				return false
			}
		}
	}
	return true
}

// firstOf is the first of the paths that is there, else the last.
func firstOf(paths ...string) string {
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return paths[len(paths)-1]
}

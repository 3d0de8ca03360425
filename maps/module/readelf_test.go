package module_test

import (
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/tests/harness"
)

// realFiles are objects by several compilers; those not installed are left out with a word.
func realFiles(t testing.TB) map[string]string {
	files := map[string]string{}
	if exe, err := os.Executable(); err == nil {
		files["Go test binary"] = exe
	}
	for _, tool := range []string{"cat", "node", "gdb", "perl", "go"} {
		if path, err := exec.LookPath(tool); err == nil {
			files[tool] = path
		}
	}
	for _, pattern := range []string{"/lib/*/libc.so.6", "/lib/*/ld-linux*.so*", "/lib/ld-linux.so.2",
		"/lib/*/libm.so.6",
		"/usr/lib/*/libcrypto.so.3", "/lib/ld-musl-*.so.1", "/usr/lib/debug/.build-id/00/*.debug",
		"/usr/aarch64-linux-gnu/lib/libc.so.6"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			files[pattern] = found[0]
		} else {
			t.Logf("no %s here", pattern)
		}
	}
	return files
}

// foreign builds objects of other byte orders and classes with clang and lld.
func foreign(t testing.TB) map[string]string {
	if _, err := exec.LookPath("clang"); err != nil {
		t.Log("clang is not installed: no foreign objects")
		return nil
	}
	files, dir := map[string]string{}, t.TempDir()
	src := filepath.Join(dir, "x.c")
	if err := os.WriteFile(src, []byte("int marker(int x) { return x + 1; }\nvoid _start(void) { marker(1); }\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"powerpc64-linux-gnu", "mips-linux-gnu", "aarch64-linux-gnu",
		"armv7-linux-gnueabihf", "riscv64-linux-gnu", "i386-linux-gnu"} {
		out := filepath.Join(dir, target)
		args := []string{"--target=" + target, "-O1", "-funwind-tables", "-fasynchronous-unwind-tables", "-shared",
			"-fPIC",
			"-nostdlib", "-fuse-ld=lld", "-Wl,--build-id", "-Wl,--eh-frame-hdr", "-o", out, src}
		if target != "mips-linux-gnu" { // has no .gnu.hash
			args = append(args, "-Wl,--hash-style=both")
		}
		if b, err := exec.Command("clang", args...).CombinedOutput(); err != nil {
			t.Logf("clang builds nothing for %s: %v %s", target, err, b)
			continue
		}
		files[target] = out
	}
	return files
}

func TestHeadersAsReadelfSays(t *testing.T) {
	harness.Need(t, "readelf")
	files := realFiles(t)
	for name, path := range foreign(t) {
		files[name] = path
	}
	for name, path := range files {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Skip(err)
			}
			_, m := fileModule(data, 0x10000)
			compareHeader(t, m, path)
			compareSections(t, m, path, data)
			compareSegments(t, m, path, data)
		})
	}
}

func compareHeader(t *testing.T, m *module.Module, path string) {
	t.Helper()
	out := harness.Output(t, "readelf", "-hnW", path)
	field := func(name string) string {
		_, rest, ok := strings.Cut(out, name)
		if !ok {
			return ""
		}
		line, _, _ := strings.Cut(rest, "\n")
		return strings.TrimSpace(line)
	}
	entry := strings.TrimPrefix(field("Entry point address:"), "0x")
	if got, want := m.Entry(), module.Vaddr(number(t, entry, 16)); got != want {
		t.Errorf("Entry() = %#x, readelf says %#x", got, want)
	}
	if got, want := "ELF"+strconv.Itoa(8*m.Class()), field("Class:"); got != want {
		t.Errorf("Class() = %s, readelf says %s", got, want)
	}
	if got, want := m.Order().String() == "BigEndian", strings.HasSuffix(field("Data:"), "big endian"); got != want {
		t.Errorf("Order() = %v, readelf says big endian: %v", m.Order(), want)
	}
	if got, want := m.BuildID(), field("Build ID:"); got != want {
		t.Errorf("BuildID() = %q, readelf says %q", got, want)
	}
}

func compareSections(t *testing.T, m *module.Module, path string, data []byte) {
	t.Helper()
	types := map[string]uint32{"NULL": 0, "PROGBITS": 1, "SYMTAB": 2, "STRTAB": 3, "RELA": 4, "NOTE": 7, "NOBITS": 8,
		"DYNSYM": 11}
	n := 0
	for line := range strings.Lines(harness.Output(t, "readelf", "-SW", path)) {
		open, rest, ok := strings.Cut(line, "]")
		i, err := strconv.Atoi(strings.TrimLeft(open, " ["))
		if !ok || err != nil {
			continue
		}
		f := strings.Fields(rest)
		if i == 0 {
			f = append([]string{""}, f...) // section 0 has no name
		}
		if n++; len(m.Sections()) <= i {
			t.Fatalf("%d sections, readelf lists number %d", len(m.Sections()), i)
		}
		s := m.Sections()[i]
		if s.Name != f[0] || uint64(s.Addr) != number(t, f[2], 16) || uint64(s.Offset) != number(t, f[3], 16) ||
			s.Size != number(t, f[4], 16) || s.EntSize != number(t, f[5], 16) ||
			uint64(s.Info) != number(t, f[len(f)-2], 10) || uint64(s.Link) != number(t, f[len(f)-3], 10) {
			t.Errorf("section %d = %+v, readelf says %v", i, short(s), f)
		}
		if want, ok := types[f[1]]; ok && s.Type != want {
			t.Errorf("section %d has type %d, readelf says %s", i, s.Type, f[1])
		}
		if s.Compressed != (len(f) == 10 && strings.Contains(f[6], "C")) {
			t.Errorf("section %d %s: Compressed = %v, readelf says %q", i, s.Name, s.Compressed, f[6])
		}
		if s.Type != 0 && s.Type != 8 && string(s.Data) != string(data[s.Offset:uint64(s.Offset)+s.Size]) {
			t.Errorf("section %d %s has other bytes than the file at %#x", i, s.Name, s.Offset)
		}
	}
	if n != len(m.Sections()) {
		t.Errorf("%d sections, readelf lists %d", len(m.Sections()), n)
	}
}

func short(s module.Section) module.Section { s.Data = nil; return s }

func compareSegments(t *testing.T, m *module.Module, path string, data []byte) {
	t.Helper()
	n := 0
	for line := range strings.Lines(harness.Output(t, "readelf", "-lW", path)) {
		f := strings.Fields(line)
		if len(f) < 7 || !strings.HasPrefix(f[1], "0x") || !strings.HasPrefix(f[2], "0x") || n >= len(m.Segments()) {
			continue
		}
		p := m.Segments()[n]
		n++
		flags := uint32(0)
		for _, c := range strings.Join(f[6:len(f)-1], "") {
			flags |= map[rune]uint32{'R': 4, 'W': 2, 'E': 1}[c]
		}
		size := number(t, f[4][2:], 16)
		if uint64(p.Offset) != number(t, f[1][2:], 16) || uint64(p.Addr) != number(t, f[2][2:], 16) ||
			p.MemSz != number(t, f[5][2:], 16) || p.Flags != flags ||
			string(p.Data) != string(data[p.Offset:uint64(p.Offset)+size]) {
			t.Errorf("segment %d = %#x %#x %#x flags %d with %#x bytes, readelf says %v", n-1, p.Offset, p.Addr,
				p.MemSz, p.Flags, len(p.Data), f)
		}
	}
	if n != len(m.Segments()) {
		t.Errorf("%d segments, readelf lists %d", len(m.Segments()), n)
	}
}

func number(t *testing.T, s string, base int) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(s, base, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestSectionTableMissing takes the section table away, as sstrip does or a truncated copy,
// and compares what program headers still give with the table of the whole file.
func TestSectionTableMissing(t *testing.T) {
	files := realFiles(t)
	for name, path := range foreign(t) {
		files[name] = path
	}
	for name, path := range files {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Log(err)
			continue
		}
		_, want := fileModule(whole, 0x10000)
		for _, cut := range []struct {
			name string
			edit func([]byte, *module.Module) []byte
		}{
			{"zeroed e_shoff", zeroSectionOffset},
			{"file ends before the section table", cutSectionTable},
		} {
			t.Run(name+"/"+cut.name, func(t *testing.T) {
				_, got := fileModule(cut.edit(append([]byte(nil), whole...), want), 0x10000)
				if got.Err != nil {
					t.Fatal(got.Err)
				}
				compareSynthesised(t, got, want)
			})
		}
	}
}

func compareSynthesised(t *testing.T, got, want *module.Module) {
	t.Helper()
	_, header := want.Section(".eh_frame_hdr")
	for _, name := range []string{".eh_frame_hdr", ".eh_frame", ".dynamic", ".dynsym", ".dynstr", ".gnu.hash",
		".hash"} {
		w, ok := want.Section(name)
		if !ok || w.Type == 8 || name == ".eh_frame" && !header {
			continue
		}
		g, ok := got.Section(name)
		if !ok || g.Addr != w.Addr || g.Offset != w.Offset {
			t.Errorf("%s = %v %+v, section table has %+v", name, ok, short(g), short(w))
			continue
		}
		if name == ".eh_frame" { // its end is not known
			g.Data = g.Data[:min(len(g.Data), len(w.Data))]
		}
		if string(g.Data) != string(w.Data) {
			t.Errorf("%s has %d bytes %s…, section table gives %d bytes", name, len(g.Data),
				hex.EncodeToString(g.Data[:min(8, len(g.Data))]), len(w.Data))
		}
	}
	if inNoteSegment(want) && got.BuildID() != want.BuildID() {
		t.Errorf("build id = %q, want %q", got.BuildID(), want.BuildID())
	}
}

// inNoteSegment reports whether program headers lead to the build id: those of Go's own
// linker do not.
func inNoteSegment(m *module.Module) bool {
	s, ok := m.Section(".note.gnu.build-id")
	for _, p := range m.Segments() {
		if ok && p.Type == 4 && p.Addr <= s.Addr && s.Addr < p.Addr+module.Vaddr(p.MemSz) { // PT_NOTE
			return true
		}
	}
	return false
}

// sectionOffsetAt is where e_shoff is: elf(5).
func sectionOffsetAt(m *module.Module) int {
	if m.Class() == 4 {
		return 32
	}
	return 40
}

func zeroSectionOffset(b []byte, m *module.Module) []byte {
	clear(b[sectionOffsetAt(m):][:m.Class()])
	return b
}

func cutSectionTable(b []byte, m *module.Module) []byte {
	end := int64(0)
	for _, p := range m.Segments() {
		if p.Type == 1 { // PT_LOAD
			end = max(end, p.Offset+int64(len(p.Data)))
		}
	}
	return b[:end]
}

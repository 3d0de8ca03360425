package cfi

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The expectations here are what binutils' readelf says about the same file.

// fileConfig returns the sections of an ELF file. On 386 datarel pointers add to the GOT.
func fileConfig(t testing.TB, path string) (Config, elf.Machine) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			t.Skipf("%s is not installed", path)
		}
		t.Fatal(err)
	}
	defer f.Close()
	cfg := Config{WordSize: 8, Order: f.ByteOrder, AArch64: f.Machine == elf.EM_AARCH64}
	if f.Class == elf.ELFCLASS32 {
		cfg.WordSize = 4
	}
	for name, to := range map[string]*Section{
		".eh_frame": &cfg.EHFrame, ".eh_frame_hdr": &cfg.EHFrameHdr, ".debug_frame": &cfg.DebugFrame,
	} {
		if s := f.Section(name); s != nil {
			data, err := s.Data()
			if err != nil {
				t.Fatal(err)
			}
			*to = Section{s.Addr, data}
		}
	}
	return cfg, f.Machine
}

// ruleCell writes a rule as readelf does.
func ruleCell(r Rule, names []string) string {
	switch r.Kind {
	case Undefined, Unspecified:
		return "u"
	case SameValue:
		return "s"
	case Offset:
		return fmt.Sprintf("c%+d", r.N)
	case ValOffset:
		return fmt.Sprintf("v%+d", r.N)
	case Register:
		return names[r.Reg]
	case Expression:
		return "exp"
	}
	return "vexp"
}

// differences compares all columns of a row, and says which registers readelf does not list.
func differences(row *Row, want printedRow, names []string) (diffs []string) {
	cfa := "exp"
	if row.CFA.Kind == Register {
		cfa = fmt.Sprintf("%s%+d", names[row.CFA.Reg], row.CFA.N)
	}
	if cfa != want.cfa {
		diffs = append(diffs, fmt.Sprintf("CFA got %s want %s", cfa, want.cfa))
	}
	for name, cell := range want.cells {
		rule := row.RA
		if name != "ra" {
			rule = row.Rule(uint64(slices.Index(names, name)))
		}
		if got := ruleCell(rule, names); got != cell {
			diffs = append(diffs, fmt.Sprintf("%s got %s want %s", name, got, cell))
		}
	}
	for i, reg := range row.Regs {
		if _, ok := want.cells[names[reg.Reg]]; !ok {
			diffs = append(diffs, fmt.Sprintf("%s got %s, readelf has no column", names[reg.Reg],
				ruleCell(reg.Rule, names)))
		}
		if i > 0 && row.Regs[i-1].Reg >= reg.Reg {
			diffs = append(diffs, "registers do not ascend")
		}
	}
	return diffs
}

// absurd says whether the CFA is one that Row refuses.
func absurd(cfa string) bool {
	_, digits, ok := strings.Cut(cfa, "+")
	n, err := strconv.ParseInt(digits, 10, 64)
	return ok && err == nil && n > maxOffset
}

// compare checks every row of a file at its first and its last address.
func compare(t *testing.T, path string, cfg Config, machine elf.Machine) {
	t.Helper()
	names := registerNames[machine]
	undefined := fdesWithUndefined(t, readelf(t, "--debug-dump=frames", path))
	table := New(cfg)
	rows, bogusRows, wrong := 0, 0, 0
	fdes := printedFDEs(t, readelf(t, "--debug-dump=frames-interp", path))
	report := func(format string, args ...any) {
		if wrong++; wrong < 20 {
			t.Errorf(format, args...)
		}
	}
	for _, fde := range fdes {
		key := fmt.Sprint(fde.section, fde.offset)
		sawUndefined := false
		for i, want := range fde.rows {
			end := fde.end
			if i+1 < len(fde.rows) {
				end = fde.rows[i+1].start
			}
			if end == want.start {
				continue
			}
			rows++
			for _, pc := range []uint64{want.start, end - 1} {
				row, err := table.Row(pc)
				if absurd(want.cfa) {
					if bogusRows++; err == nil {
						report("%#x: bogus CFA %s accepted", pc, want.cfa)
					}
					continue
				}
				if err != nil {
					report("%#x: %v", pc, err)
					continue
				}
				if row.Start != want.start || row.End != end {
					report("%#x: range got [%#x,%#x) want [%#x,%#x)", pc, row.Start, row.End, want.start, end)
				}
				if d := differences(row, want, names); len(d) != 0 {
					report("%#x: %s", pc, strings.Join(d, "; "))
				}
				sawUndefined = sawUndefined || row.RA.Kind == Undefined ||
					slices.ContainsFunc(row.Regs, func(r RegRule) bool { return r.Rule.Kind == Undefined })
			}
		}
		if sawUndefined != undefined[key] && fde.start != fde.end {
			report("FDE %s+%#x: undefined rules got %t, readelf %t", fde.section, fde.offset, sawUndefined,
				undefined[key])
		}
	}
	t.Logf("%s: %d FDEs, %d rows compared, %d bogus, header %v", path, len(fdes), rows, bogusRows, table.headerErr)
	if wrong != 0 {
		t.Errorf("%d differences", wrong)
	}
	if rows == 0 {
		t.Error("no row was compared")
	}
}

// firstOf returns the first path that exists, or the first.
func firstOf(patterns ...string) string {
	for _, p := range patterns {
		if found, _ := filepath.Glob(p); len(found) > 0 {
			return found[0]
		}
	}
	return patterns[0]
}

func TestRowsOfInstalledFiles(t *testing.T) {
	const large = 1 << 20
	for _, tt := range []struct {
		name, path string
	}{
		{"libc", firstOf("/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6")},
		{"dynamic linker", "/lib64/ld-linux-x86-64.so.2"},
		{"libstdc++", firstOf("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib64/libstdc++.so.6")},
		{"libcrypto", firstOf("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/lib64/libcrypto.so.3")},
		{"node", firstOf("/usr/lib/x86_64-linux-gnu/libnode.so.108", "/usr/bin/node")},
		{"386 libc", firstOf("/lib32/libc.so.6", "/usr/lib/i386-linux-gnu/libc.so.6")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, machine := fileConfig(t, tt.path)
			if registerNames[machine] == nil {
				t.Skipf("register names of %v are not known", machine)
			}
			if testing.Short() && len(cfg.EHFrame.Data) > large {
				t.Skip("large file in short mode")
			}
			compare(t, tt.path, cfg, machine)
		})
		t.Run(tt.name+" without header", func(t *testing.T) {
			cfg, machine := fileConfig(t, tt.path)
			if registerNames[machine] == nil {
				t.Skipf("register names of %v are not known", machine)
			}
			if testing.Short() && tt.name != "libc" {
				t.Skip("one file without header in short mode")
			}
			cfg.EHFrameHdr = Section{}
			compare(t, tt.path, cfg, machine)
		})
	}
}

func TestRowsOfGoProgram(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	content := []byte("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(1) }\n")
	if err := os.WriteFile(source, content, 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=", "GO111MODULE=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("no Go program to read: go build: %v\n%s", err, out)
	}
	cfg, machine := fileConfig(t, program)
	if len(cfg.DebugFrame.Data) == 0 {
		t.Fatal("the Go program has no .debug_frame")
	}
	compare(t, program, cfg, machine)
}

// TestRowsOfDebugFrameVersions lets the assembler write .debug_frame with each CIE version.
func TestRowsOfDebugFrameVersions(t *testing.T) {
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed")
	}
	const source = `
int other(int *);
__attribute__((visibility("default"))) int sum(int n, int *p) {
	int v[n + 4];
	v[0] = *p;
	return other(v) + v[n] + (n > 3 ? sum(n - 1, v) : 0);
}
int other(int *p) { return *p + 1; }
`
	dir := t.TempDir()
	file := filepath.Join(dir, "sum.c")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, version := range []uint8{1, 3, 4} {
		t.Run(fmt.Sprintf("version %d", version), func(t *testing.T) {
			library := filepath.Join(dir, fmt.Sprintf("v%d.so", version))
			cmd := exec.Command(compiler, "-g", "-O1", "-shared", "-fPIC", "-nostdlib",
				"-fno-asynchronous-unwind-tables",
				fmt.Sprintf("-Wa,--gdwarf-cie-version=%d", version), "-o", library, file)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Skipf("this gcc cannot write it: %v\n%s", err, out)
			}
			cfg, machine := fileConfig(t, library)
			if registerNames[machine] == nil {
				t.Skipf("register names of %v are not known", machine)
			}
			compare(t, library, cfg, machine)
			fdes := printedFDEs(t, readelf(t, "--debug-dump=frames-interp", library))
			for _, fde := range fdes {
				got, err := New(cfg).FDE(fde.start)
				if err != nil || got.CIE.Version != version || got.Section != ".debug_frame" {
					t.Errorf("FDE(%#x) = %+v, %v; want version %d in .debug_frame", fde.start, got, err, version)
				}
			}
		})
	}
}

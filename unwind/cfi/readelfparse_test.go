package cfi

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// registerNames are readelf's, by DWARF number.
var registerNames = map[elf.Machine][]string{
	elf.EM_X86_64: strings.Fields("rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip"),
	elf.EM_386:    strings.Fields("eax ecx edx ebx esp ebp esi edi eip"),
}

// numberedRegister is a register in a cell: "r8 (r8)", "r1 (ecx)".
var numberedRegister = regexp.MustCompile(`r\d+ \((\w+)\)`)

// printedRow is one line of readelf's table.
type printedRow struct {
	start uint64
	cfa   string
	cells map[string]string // by column
}

// printedFDE is one FDE of readelf's output.
type printedFDE struct {
	section    string
	offset     uint64
	start, end uint64
	rows       []printedRow
}

func readelf(t testing.TB, args ...string) []byte {
	t.Helper()
	tool, err := exec.LookPath("readelf")
	if err != nil {
		t.Skip("readelf is not installed: nothing independent to compare with")
	}
	out, err := exec.Command(tool, append([]string{"--debug-dump=no-follow-links"}, args...)...).Output()
	if err != nil {
		t.Fatalf("readelf %v: %v", args, err)
	}
	return out
}

func hex(t testing.TB, s string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		t.Fatalf("readelf printed %q where a number was expected", s)
	}
	return v
}

// printedFDEs parses `readelf --debug-dump=frames-interp`. FDEs without rows of their own
// get those of their CIE.
func printedFDEs(t testing.TB, out []byte) []printedFDE {
	t.Helper()
	var fdes []printedFDE
	var columns []string
	ciesRows := map[string][]printedRow{}
	section, cie, inCIE := "", "", false
	scanner := bufio.NewScanner(bytes.NewReader(out))
	for scanner.Scan() {
		f := strings.Fields(numberedRegister.ReplaceAllString(scanner.Text(), "$1"))
		switch {
		case len(f) > 1 && (f[1] == "ZERO" || f[0] == "Section"):
		case len(f) > 3 && f[0] == "Contents":
			section = f[3]
		case len(f) > 3 && f[3] == "CIE":
			cie, inCIE = section+f[0], true
			ciesRows[cie] = nil
		case len(f) > 5 && f[3] == "FDE":
			inCIE = false
			from, to, _ := strings.Cut(strings.TrimPrefix(f[5], "pc="), "..")
			fde := printedFDE{section: section, offset: hex(t, f[0]), start: hex(t, from), end: hex(t, to)}
			for _, r := range ciesRows[section+strings.TrimPrefix(f[4], "cie=")] {
				r.start = fde.start
				fde.rows = append(fde.rows, r)
			}
			fdes = append(fdes, fde)
		case len(f) > 1 && f[0] == "LOC":
			columns = f[2:]
			if !inCIE {
				fdes[len(fdes)-1].rows = nil
			}
		case len(f) == len(columns)+2 && len(f[0]) >= 8:
			row := printedRow{hex(t, f[0]), f[1], map[string]string{}}
			for i, name := range columns {
				row.cells[name] = f[i+2]
			}
			if inCIE {
				ciesRows[cie] = append(ciesRows[cie], row)
			} else {
				last := &fdes[len(fdes)-1]
				last.rows = append(last.rows, row)
			}
		case len(f) > 1:
			t.Fatalf("readelf line not understood: %q", scanner.Text())
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return fdes
}

// fdesWithUndefined parses `readelf --debug-dump=frames`: interp prints "u" for both
// DW_CFA_undefined and no rule. The key is section and offset.
func fdesWithUndefined(t testing.TB, out []byte) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	section, entry := "", ""
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		switch {
		case len(f) > 3 && f[0] == "Contents":
			section = f[3]
		case len(f) > 3 && (f[3] == "FDE" || f[3] == "CIE"):
			entry = fmt.Sprint(section, hex(t, f[0]))
			if len(f) > 4 && strings.HasPrefix(f[4], "cie=") && found[fmt.Sprint(section, hex(t, f[4][len("cie="):]))] {
				found[entry] = true // start code has the rule in its CIE
			}
		case len(f) > 0 && f[0] == "DW_CFA_undefined:":
			found[entry] = true
		}
	}
	return found
}

package arm64

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// unpacked returns the path of a recorded object of testdata/snapshots/arm64.
func unpacked(t testing.TB, name string) string {
	t.Helper()
	packed, err := os.Open(filepath.Join("../../testdata/snapshots/arm64", name+".elf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// mnemonics says what objdump's names mean for the flow of control.
var mnemonics = map[string]flow{
	"b": flowJump, "bl": flowCall, "blr": flowCallAny, "blraa": flowCallAny, "blraaz": flowCallAny,
	"blrab": flowCallAny, "blrabz": flowCallAny, "br": flowIndirect,
	"braa": flowIndirect, "braaz": flowIndirect, "ret": flowReturn,
	"retaa": flowReturn, "retab": flowReturn, "cbz": flowCond, "cbnz": flowCond, "tbz": flowCond, "tbnz": flowCond,
	"brk": flowEnd, "hlt": flowEnd, "udf": flowEnd, "eret": flowEnd,
}

// TestFlowAgainstObjdump classifies every instruction of whole programs as another decoder does, and where direct
// branches lead.
func TestFlowAgainstObjdump(t *testing.T) {
	tool := ""
	for _, name := range []string{"llvm-objdump", "llvm-objdump-14", "aarch64-linux-gnu-objdump"} {
		if _, err := exec.LookPath(name); err == nil {
			tool = name
			break
		}
	}
	if tool == "" {
		t.Skip("no objdump for arm64 is installed")
	}
	for _, name := range []string{"blocked", "golang", "chain-pac"} {
		path := unpacked(t, name)
		c, _ := object(t, path)
		out, err := exec.Command(tool, "-d", "-j", ".text", "--no-show-raw-insn", path).Output()
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		total := 0
		lines := bufio.NewScanner(bytes.NewReader(out))
		for lines.Scan() {
			f := strings.Fields(lines.Text())
			if len(f) < 2 || !strings.HasSuffix(f[0], ":") {
				continue
			}
			pc, err := strconv.ParseUint(strings.TrimSuffix(f[0], ":"), 16, 64)
			i, ok := c.at(pc)
			if err != nil || !ok || i == 0 {
				continue
			}
			total++
			want := mnemonics[f[1]]
			if strings.HasPrefix(f[1], "b.") {
				want = flowCond
			}
			got := i.flow()
			if got == flowSlot {
				got = flowIndirect
			}
			if got != want {
				t.Errorf("%s: %#x: %s: got %d, want %d", name, pc, lines.Text(), got, want)
			}
			if got == flowCond || got == flowJump || got == flowCall {
				if to := strconv.FormatUint(i.target(pc), 16); !strings.Contains(lines.Text(), to+" <") {
					t.Errorf("%s: %#x: %s: leads to %s", name, pc, lines.Text(), to)
				}
			}
		}
		if total == 0 {
			t.Errorf("%s: nothing was compared", name)
		}
		t.Logf("%s: %d instructions", name, total)
	}
}

// FuzzCode runs every analysis over arbitrary bytes: no panic, bounded work, and a row says what it found or nothing.
func FuzzCode(f *testing.F) {
	for _, seed := range [][]byte{
		words(0xa9bf7bfd, 0x910003fd, 0x94000010, 0xa8c17bfd, 0xd65f03c0),
		words(0xd1400bff, 0xf90003ff, 0xeb2c63ff, 0x54ffffa1, 0xd65f03c0),
		words(0x90000010, 0xf9400211, 0x91000210, 0xd61f0220),
		words(0x2a0003e0, 0xd61f0120, 0xd65f03c0, 0x17fffffd, 0xd4000001),
	} {
		f.Add(seed, uint16(4))
		f.Add(seed, uint16(9))
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint16) {
		c := &Code{Start: 0x1000, Data: data}
		pc := c.Start + uint64(at)
		if row, ok := c.FromEntry(c.Start, 0, pc); ok && (pc < row.Start || pc >= row.End) {
			t.Errorf("row [%#x, %#x) does not hold %#x", row.Start, row.End, pc)
		}
		c.FromEntry(c.Start, c.End(), pc)
		c.FromEntry(pc, pc+1, c.Start)
		c.FromEntrySP(c.Start, c.End(), pc)
		c.Forward(pc, at&1 == 0)
		c.CallBefore(pc)
		c.CallSlot(pc)
		c.CallNumber(c.Start, c.End(), pc)
		c.Jump(pc)
		c.Records(c.Start, c.End(), false)
		c.Before(c.BehindEnd(c.Start, pc), pc)
		SignalReturn(data, int(at))
	})
}

package check

import (
	"github.com/fpstack/fpstack/tests/harness"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const crossSource = `
extern int out(int), more(int);
__attribute__((noinline)) static int inner(int n) { return out(n) * 3 + more(n); }
int leaf(int n) { return n * 7 + 1; }
int early(int n) { if (n < 3) return n; return out(n) + inner(n); }
int cases(int n) { switch (n) {
  case 0: return out(1) + 2; case 1: return more(7) * 3; case 2: return out(3) - 1;
  case 3: return inner(9) + 1; case 4: return more(n) ^ 5; case 5: return out(n) | 8; default: return 4; } }
int tail(int n) { return out(n + 1); }
int array(int n) { char b[4096]; for (int i = 0; i < 4096; i++) b[i] = i * n; return out(b[n & 4095]) + leaf(n); }
int loops(int n) { int s = 0; while (n--) s += out(n) * inner(s); return s; }
`

// cross builds a library of crossSource for arm64.
func cross(t *testing.T, options ...string) string {
	t.Helper()
	harness.Need(t, "clang", "ld.lld", "llvm-objdump")
	dir := t.TempDir()
	source, object, library := filepath.Join(dir, "x.c"), filepath.Join(dir, "x.o"), filepath.Join(dir, "x.so")
	if err := os.WriteFile(source, []byte(crossSource), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--target=aarch64-linux-gnu", "-c", "-O2", "-fPIC", "-o", object, source}, options...)
	if out, err := exec.Command("clang", args...).CombinedOutput(); err != nil {
		t.Skipf("clang for arm64: %v\n%s", err, out)
	}
	if out, err := exec.Command("ld.lld", "-shared", "-o", library, object).CombinedOutput(); err != nil {
		t.Fatalf("ld.lld: %v\n%s", err, out)
	}
	return library
}

// TestARM64AgreesWithObjdump: a function has a record if it points x29 to the stack before it calls.
func TestARM64AgreesWithObjdump(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options []string
		fp      bool
		kept    int // of inner, early, cases, array, loops; tail and leaf need none
	}{
		{"with frame pointers", []string{"-fno-omit-frame-pointer"}, true, 5},
		{"without", []string{"-fomit-frame-pointer"}, false, 0},
		{"without tables", []string{"-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"},
			true, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := cross(t, tt.options...)
			want := map[string]verdict{}
			head := regexp.MustCompile(`^([0-9a-f]+) <(.+)>:`)
			name, set := "", false
			for line := range strings.Lines(harness.Output(t, "llvm-objdump", "-d", "--no-show-raw-insn", path)) {
				f := strings.Fields(line)
				if m := head.FindStringSubmatch(line); m != nil {
					name, set = m[1], false
					want[key(t, name)] = notNeeded
				} else if name == "" || len(f) < 3 || want[key(t, name)] == missing {
					continue
				} else if set = set || f[1] == "mov" && strings.Contains(line, "x29, sp") || f[1] == "add" &&
					f[2] == "x29," && f[3] == "sp,"; set {
					want[key(t, name)] = kept
				} else if f[1] == "bl" || f[1] == "blr" {
					want[key(t, name)] = missing
				}
			}
			m := open(t, path)
			l := &inspection{m: m, out: &Module{}}
			l.all()
			for _, f := range l.symbols().list {
				if got, w := l.judge(f), want[strconv.FormatUint(uint64(f.Start), 16)]; got != w {
					name, _ := l.nameOf(f.Start)
					t.Errorf("%s: got %s, objdump has %s", name, verdictNames[got], verdictNames[w])
				}
			}
			r := Inspect(open(t, path), Options{})
			if f := r.Frames; has(r, FP) != tt.fp || f.Kept != tt.kept || f.Kept+f.Missing != 5 || f.NotNeeded != 2 ||
				r.Arch != "arm64" {
				t.Errorf("frame pointers %v: %+v of %s", has(r, FP), f, r.Arch)
			}
			if tables := tt.name != "without tables"; has(r, Unwind) != tables {
				t.Errorf("tables: got %v, want %v: %+v", !tables, tables, r.Tables)
			}
		})
	}
}

// key writes an address without leading zeros.
func key(t *testing.T, hex string) string {
	t.Helper()
	v, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatUint(v, 16)
}

// TestGoForARM64: Go keeps frame pointers on arm64.
func TestGoForARM64(t *testing.T) {
	out := filepath.Join(t.TempDir(), "threads")
	cmd := exec.Command("go", "build", "-o", out, "../testdata/live/threads_go")
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("go build for arm64: %v\n%s", err, msg)
	}
	m := Inspect(open(t, out), Options{Sample: 600})
	share, ok := m.Frames.Share()
	if !ok || share < 0.99 || m.Arch != "arm64" || !has(m, FP) || !has(m, Unwind) {
		t.Errorf("share %v of %+v, tables %+v", share, m.Frames, m.Tables)
	}
}

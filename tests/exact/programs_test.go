//go:build linux && amd64

package exact

import (
	"cmp"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/unwind"
)

var full = flag.Bool("full", false, "step every program, every instruction: some ten minutes")

// targets is where scripts/build-targets puts its programs.
const targets = "../../testdata/bin/step"

// program is one row: a program of testdata/step and what is allowed to miss.
type program struct {
	name    string // of scripts/build-targets
	args    string
	opt     Options // of the full form
	allowed []string
	want    float64 // usual fraction of exact points; what misses has a cause that is allowed
	peer    string  // in place of want: a program that is walked in the same way beside it
	misses  int     // of other causes, as many as usual
	rooted  float64 // least fraction of walks that end at a root; 0: any
	short   int     // compare each short-th instruction in the short form too; 0: only with -full
}

var jumps = []string{InJump}

// blind is a walk of a thread that sleeps and was not stopped.
var blind = Options{Every: 7, Blind: true}

// What misses must have a cause that is allowed, each explained at its constant; other misses are
// none, where the row does not say so: then its comment says which. How large the share of an allowed
// cause is depends on libc, compiler and CPU too: twice what was measured here is still right.
var programs = []program{
	{name: "steps", allowed: jumps, want: 1, short: 1},
	{name: "steps-O0", allowed: jumps, want: 1},
	{name: "steps-now", allowed: jumps, want: 1},
	{name: "steps-nopie", allowed: jumps, want: 1},
	{name: "steps-fp", allowed: jumps, want: 1},
	{name: "steps-nofp", allowed: jumps, want: 1},
	{name: "steps-static", allowed: jumps, want: 1, short: 1},
	{name: "steps-static-pie", allowed: jumps, want: 1},
	{name: "steps-stripped", allowed: jumps, want: 1},
	{name: "steps-clang", allowed: jumps, want: 1},
	{name: "steps-clang-O0", allowed: jumps, want: 1},
	{name: "steps-clang-fp", allowed: jumps, want: 1},
	{name: "steps-notables", allowed: jumps, want: 1, short: 1},
	{name: "steps-notables-fp", allowed: jumps, want: 1},
	{name: "steps-notables-O0", allowed: jumps, want: 1},
	{name: "steps-notables-clang", allowed: jumps, want: 1},
	// main is called through a pointer, calls exit and has no symbol: the walk ends there.
	{name: "steps-notables-stripped", allowed: []string{InJump, StartCode}, want: 0.52},
	{name: "steps-synchronous", allowed: jumps, want: 1},
	{name: "steps-nohdr", allowed: jumps, want: 1},
	{name: "steps-debugframe", allowed: jumps, want: 1},
	{name: "steps-pg", allowed: jumps, want: 1},
	{name: "steps-tlsdesc", allowed: jumps, want: 1},
	{name: "steps-thunks", allowed: []string{InJump, Thunk}, want: 0.9989},
	// The tables of glibc's assembly for i586 (memcpy, stpcpy) are wrong: they say CFA = esp+0, esp-4
	// where they mean esp+8, esp+12, as readelf --debug-dump=frames-interp shows. The walk reads
	// the code there.
	{name: "steps-m32", allowed: []string{InJump, StartCode}, want: 0.9999},
	{name: "steps-m32-O0", allowed: []string{InJump, StartCode}, want: 0.9999},
	{name: "steps-m32-fp", allowed: []string{InJump, StartCode}, want: 0.9999},
	{name: "steps-musl", allowed: []string{InJump, StartCode}, want: 0.404, misses: 5},
	{name: "steps-musl-static", allowed: jumps, want: 0.9999, short: 2},
	{name: "steps-musl-stripped", allowed: []string{InJump, StartCode}, want: 0.013, misses: 5},
	{name: "drap", want: 1, short: 5},
	{name: "drap-clang", want: 1},
	{name: "drap-fp", want: 1},
	{name: "drap-notables", want: 1},
	{name: "drap-m32", allowed: []string{StartCode}, want: 0.9999},
	{name: "signals", allowed: []string{InJump, ChangedContext}, want: 0.9993},
	{name: "signals-clang", allowed: []string{InJump, ChangedContext}, want: 0.9992},
	{name: "signals-fp", allowed: []string{InJump, ChangedContext}, want: 0.9993},
	{name: "signals-static", allowed: []string{InJump, ChangedContext}, want: 0.996, short: 1},
	// The dynamic musl has no symbol for the end of sigsetjmp; see known.go.
	{name: "signals-musl", allowed: []string{InJump, ChangedContext, StartCode}, want: 0.796, misses: 39},
	{name: "signals-musl-static", allowed: []string{InJump, ChangedContext}, want: 0.964, short: 1},
	{name: "handler", opt: Options{Inject: 97}, want: 1},
	{name: "handler-fp", opt: Options{Inject: 97}, want: 1},
	{name: "handler-static", opt: Options{Inject: 97}, want: 1, short: 3},
	{name: "handler-musl", opt: Options{Inject: 97}, want: 1},
	{name: "handler-m32", opt: Options{Inject: 97}, allowed: []string{StartCode}, want: 0.9999},
	{name: "threads", allowed: jumps, want: 1},
	{name: "threads-static", opt: Options{Every: 9}, allowed: jumps, want: 0.9999},
	{name: "threads-musl", want: 1, short: 1},
	{name: "threads-m32", allowed: []string{InJump, StartCode}, want: 0.9998},
	{name: "vfork", want: 1, short: 3},
	{name: "vfork-musl", want: 1, short: 1},
	// A context that makecontext made ends at __start_context, which nobody called.
	{name: "coroutines", allowed: jumps, want: 0.997, rooted: 0.995, short: 3},
	{name: "coroutines-fp", allowed: jumps, want: 0.997, rooted: 0.995},
	{name: "throw", opt: Options{Every: 5}, allowed: jumps, want: 0.9996},
	{name: "throw-O0", opt: Options{Every: 5}, allowed: jumps, want: 0.9991},
	{name: "throw-static", opt: Options{Every: 5}, allowed: jumps, want: 0.9998},
	{name: "throw-clang", opt: Options{Every: 5}, allowed: jumps, want: 0.9996},
	{name: "unwind-rust", allowed: jumps, want: 0.9987},
	{name: "unwind-rust-fp", allowed: jumps, want: 0.9959},
	{name: "crypto", opt: Options{Every: 2}, want: 1},
	{name: "crypto-static", want: 1},
	{name: "crypto-static", args: "chacha20-poly1305", want: 1, short: 2},
	{name: "crypto-static", args: "sha256", want: 1, short: 2},
	{name: "crypto-static", args: "modexp", want: 1, short: 7},
	{name: "asm", want: 1, short: 3},
	// A jump through a table in code without symbols: nothing leads to a return, 5 points a round.
	{name: "asm-stripped", want: 0.9997, misses: 25},
	// Of a thread that sleeps and was not stopped PC and SP are known: what rests on rbp is found by
	// the code. Where SP was realigned or moved by a variable, the walk ends and says so. How much of
	// that there is, libc decides: so steps, the same without frame pointers, is the peer.
	{name: "steps-fp", opt: blind, allowed: []string{InJump, StartCode, NotKnown}, peer: "steps", short: 29},
	{name: "steps-O0", opt: blind, allowed: []string{InJump, StartCode, NotKnown}, peer: "steps"},
	// Go ends its stacks at functions marked TOPFRAME (start code here). Its threads and timers
	// run as they like: no two runs are the same.
	{name: "golang", opt: Options{Every: 3, Max: 100_000}, allowed: []string{InJump, StartCode, GoSwitch}, want: 0.68,
		misses: 20},
	// Most points are of threads that Go made before the program says where it begins, and more on a busy machine: they
	// do not count.
	{name: "crossings", opt: Options{Marked: true, Every: 11},
		allowed: []string{InJump, StartCode, GoSwitch, ChangedContext, BegunLate}, want: 0.72},
	{name: "golang-stripped", opt: Options{Every: 3, Max: 100_000}, allowed: []string{InJump, StartCode, GoSwitch},
		want: 0.68, misses: 20},
}

func TestMain(m *testing.M) {
	flag.Parse()
	out, err := exec.Command("../../scripts/build-targets").CombinedOutput()
	if err != nil {
		os.Stderr.WriteString("build-targets: " + err.Error() + "\n" + string(out))
	}
	os.Exit(m.Run())
}

func TestPrograms(t *testing.T) {
	if err := mayTrace(); err != nil {
		t.Skipf("ptrace is not to be had here: %v", err)
	}
	for _, p := range programs {
		if !*full && p.short == 0 {
			continue
		}
		name := strings.TrimSuffix(p.name+" "+p.args, " ")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.test(t)
		})
	}
}

// peerSlack is how much smaller the exact share of a program may be than its peer's: their functions
// are not the same.
const peerSlack = 0.05

// least is the smallest fraction of exact points that p may have.
func (p *program) least(t *testing.T, opt Options) float64 {
	if p.peer == "" {
		least := 1 - 2*(1-p.want)
		if !*full {
			least -= 0.001 // of fewer points those in a jump may be more
		}
		return least
	}
	beside, err := Run([]string{built(t, p.peer)}, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s beside it: %.6f exact of %d points", p.peer, beside.Fraction(), beside.Points)
	return beside.Fraction() - peerSlack
}

// built gives the path of a program.
func built(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(targets, name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not built, scripts/build-targets says why: %v", name, err)
	}
	return path
}

func (p *program) test(t *testing.T) {
	path, opt := built(t, p.name), p.opt
	opt.Dir, opt.Keep, opt.Tunables = t.TempDir(), 1, cmp.Or(opt.Tunables, os.Getenv("GLIBC_TUNABLES"))
	if !*full {
		opt.Every = p.short
	}
	if !*full && !harness.All {
		// The dynamic linker, most of what a program runs, is stepped once, and where the share is of its points too.
		opt.Loaded = p.name != "steps" && p.want == 1 || p.opt.Tunables != "" || p.peer != ""
		if strings.HasPrefix(p.name, "steps") { // the longest of all
			opt.Every = max(p.short, 3)
		}
	}
	r, err := Run(append([]string{path}, strings.Fields(p.args)...), opt)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != "exit 0" && r.Status != "enough" {
		t.Errorf("program ended: got %q, want \"exit 0\"", r.Status)
	}
	if opt.Inject > 0 && r.Signals < 100 {
		t.Errorf("handlers entered: got %d, want at least 100", r.Signals)
	}
	got, want := r.Fraction(), p.least(t, opt)
	if n := r.Missed(p.allowed...); got < want || n > 2*p.misses || r.Points < 1000 {
		var b strings.Builder
		r.Print(&b)
		t.Errorf("got %.6f exact of %d points and %d misses unexplained, want at least %.4f and at most %d\n%.8000s",
			got, r.Points, n, want, 2*p.misses, b.String())
		return
	}
	if rooted := float64(r.Stops[unwind.Root]) / float64(r.Points); rooted < p.rooted {
		t.Errorf("got %.6f of the walks to a root, want %.4f: %v", rooted, p.rooted, r.Stops)
	}
	t.Logf("%d steps, %d points, %.6f exact, %v", r.Steps, r.Points, got, r.ByCause)
}

// models are CPUs that the one here can be told to be, newest first: what glibc chooses by them are its
// functions of memory and text, and the dynamic linker's way to keep registers. Names are those of glibc 2.33
// and later; what a glibc or a CPU does not know changes nothing.
var models = []struct {
	name, hwcaps string
	always       bool // with harness.All too, and the last of them each time; the others with -full alone
}{
	{"AVX2", without512, true},
	{"AVX2 without ERMS", without512 + ",-ERMS,-FSRM", false},
	{"SSSE3", withoutAVX + ",-SSE4_1,-SSE4_2", false},
	{"SSE2", withoutAVX + ",-SSE4_1,-SSE4_2,-SSSE3,-XSAVEC,-XSAVE,-Fast_Unaligned_Copy,-Fast_Unaligned_Load,Slow_BSF",
		true},
}

const (
	without512 = "-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ"
	withoutAVX = without512 + ",-AVX2,-AVX,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM"
)

// TestCPUModels has some of the programs run as on older CPUs.
func TestCPUModels(t *testing.T) {
	if err := mayTrace(); err != nil {
		t.Skipf("ptrace is not to be had here: %v", err)
	}
	rows := []program{
		{name: "steps", allowed: jumps, want: 1, short: 3},
		{name: "steps-fp", opt: blind, allowed: []string{InJump, StartCode, NotKnown}, peer: "steps", short: 29},
	}
	some := !*full && !harness.All
	if some {
		rows = rows[:1]
	}
	for i, m := range models {
		if !*full && !m.always || some && i < len(models)-1 {
			continue
		}
		for _, p := range rows {
			p.opt.Tunables = "glibc.cpu.hwcaps=" + m.hwcaps
			t.Run(m.name+" "+p.name, func(t *testing.T) {
				t.Parallel()
				p.test(t)
			})
		}
	}
}

// mayTrace says why this process may not trace its children, nil if it may.
func mayTrace() error {
	_, err := Run([]string{"/bin/true"}, Options{Max: 1, TruthOnly: true})
	if errors.Is(err, unix.EPERM) {
		return err
	}
	return nil
}

//go:build linux && amd64

package exact

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
)

// chainLength is how many functions of our own are on the stack of a chain program.
const chainLength = 30

// chainC writes a C program in which chainLength distinct functions call each other, and the
// last one says that it is there and spins.
func chainC() string {
	var b strings.Builder
	b.WriteString("#include <unistd.h>\nvolatile long sink; int run(long);\n")
	b.WriteString("__attribute__((noinline)) long f0(long a) { if (write(1, \"r\", 1) != 1) return 0; for (;;) sink " +
		"+= a; }\n")
	for i := 1; i < chainLength; i++ {
		fmt.Fprintf(&b,
			"__attribute__((noinline)) long f%d(long a) { long x = sink + a, y = f%d(a + %d); sink += x * y; return "+
				"x - y; }\n", i, i-1, i)
	}
	fmt.Fprintf(&b, "int main(int argc, char **argv) { return (int)f%d(argc); }\n", chainLength-1)
	return b.String()
}

// chainGo is chainC in Go.
func chainGo() string {
	var b strings.Builder
	b.WriteString("package main\nimport \"os\"\nvar sink int\n")
	b.WriteString("//go:noinline\nfunc f0(a int) int { os.Stdout.WriteString(\"r\"); for { sink += a } }\n")
	for i := 1; i < chainLength; i++ {
		fmt.Fprintf(&b,
			"//go:noinline\nfunc f%d(a int) int { x := sink + a; y := f%d(a + %d); sink += x * y; return x - y }\n", i,
			i-1, i)
	}
	fmt.Fprintf(&b, "func main() { println(f%d(len(os.Args))) }\n", chainLength-1)
	return b.String()
}

// captured is one stopped moment of a live program, and what walks it.
type captured struct {
	process *tracer.Process
	set     *module.Set
	names   *resolve.Names
	thread  *snapshot.Thread
	snap    *snapshot.Snapshot
}

// capture builds a program, runs it until it says that it is there, and copies it once. The
// program lives until the test ends.
func capture(tb testing.TB, file, source string, build ...string) *captured {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(source), 0o666); err != nil {
		tb.Fatal(err)
	}
	cc := exec.Command(build[0], build[1:]...)
	cc.Dir = dir
	cc.Env = append(os.Environ(), "GO111MODULE=off")
	if out, err := cc.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %v\n%s", build, err, out)
	}
	run := exec.Command(filepath.Join(dir, "chain"))
	out, err := run.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := run.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { run.Process.Kill(); run.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil {
		tb.Fatal(err)
	}
	c := copyThread(tb, run.Process.Pid)
	// It need not spin any longer: its memory stays.
	if err := run.Process.Signal(syscall.SIGSTOP); err != nil {
		tb.Fatal(err)
	}
	return c
}

// maxCopies bounds how often a program is stopped until its chain is on a thread: a goroutine that comes back from a
// system call may have to wait for its turn first.
const maxCopies = 200

// copyThread stops process pid and copies its spinning thread.
func copyThread(tb testing.TB, pid int) *captured {
	tb.Helper()
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { p.Close() })
	for range maxCopies {
		snap, err := p.Snapshot(context.Background(), tracer.StopOptions{})
		if err != nil {
			tb.Fatal(err)
		}
		c := &captured{process: p, snap: snap, set: module.NewSet(snap.Maps, p.Image())}
		c.names = resolve.New(c.set, resolve.Options{})
		if c.thread = c.chained(); c.thread != nil {
			tb.Cleanup(func() { c.set.Close() })
			return c
		}
		c.set.Close()
	}
	tb.Fatalf("no thread of %d has %d frames", pid, chainLength)
	return nil
}

// chained returns the thread that has the chain on its stack, nil if none has.
func (c *captured) chained() *snapshot.Thread {
	walker := walkerOf(c.set, c.names)
	for i := range c.snap.Threads {
		t := &c.snap.Threads[i]
		if s := walker.Walk(t, c.snap.Reader(t, c.process), unwind.Options{}); len(s.Frames) >= chainLength {
			return t
		}
	}
	return nil
}

// chains are the programs that BenchmarkWarmWalk walks.
var chains = []struct {
	name, file string
	source     func() string
	build      []string
}{
	{"C without frame pointers", "chain.c", chainC, []string{"cc", "-O2", "-fomit-frame-pointer", "-o", "chain",
		"chain.c"}},
	{"C with frame pointers", "chain.c", chainC, []string{"cc", "-O2", "-fno-omit-frame-pointer", "-o", "chain",
		"chain.c"}},
	{"C without tables", "chain.c", chainC, []string{"cc", "-O2", "-fno-omit-frame-pointer",
		"-fno-asynchronous-unwind-tables", "-o", "chain", "chain.c"}},
	{"Go", "chain.go", chainGo, []string{"go", "build", "-o", "chain", "chain.go"}},
}

// BenchmarkWarmWalk is the walk of a sampler: the same program, sampled for the thousandth time.
func BenchmarkWarmWalk(b *testing.B) {
	for _, chain := range chains {
		c := capture(b, chain.file, chain.source(), chain.build...)
		for _, mode := range []unwind.Mode{unwind.Auto, unwind.FramePointersOnly} {
			b.Run(fmt.Sprintf("%s/%v", chain.name, map[unwind.Mode]string{unwind.Auto: "auto",
				unwind.FramePointersOnly: "fp"}[mode]), func(b *testing.B) {
				c.bench(b, unwind.Options{Mode: mode})
			})
		}
	}
}

// BenchmarkColdWalk is the walk of a dump: nothing is known but the modules.
func BenchmarkColdWalk(b *testing.B) {
	for _, chain := range chains {
		b.Run(chain.name, func(b *testing.B) {
			c := capture(b, chain.file, chain.source(), chain.build...)
			memory := c.snap.Reader(c.thread, c.process)
			b.ReportAllocs()
			for b.Loop() {
				walkerOf(c.set, c.names).Walk(c.thread, memory, unwind.Options{})
			}
		})
	}
}

func (c *captured) bench(b *testing.B, opt unwind.Options) {
	var s unwind.Stack
	walker, memory := walkerOf(c.set, c.names), c.snap.Reader(c.thread, c.process)
	walker.WalkInto(&s, c.thread, memory, opt)
	b.ReportAllocs()
	for b.Loop() {
		walker.Renew()
		walker.WalkInto(&s, c.thread, memory, opt)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(s.Frames)), "ns/frame")
	b.ReportMetric(float64(len(s.Frames)), "frames")
}

// A walk by what the Walker knows already gives the stack that a new Walker gives, at any limit,
// and allocates nothing.
func TestWarmWalk(t *testing.T) {
	if err := mayTrace(); err != nil {
		t.Skipf("ptrace is not to be had here: %v", err)
	}
	for _, chain := range chains {
		t.Run(chain.name, func(t *testing.T) {
			c := capture(t, chain.file, chain.source(), chain.build...)
			warm, memory := walkerOf(c.set, c.names), c.snap.Reader(c.thread, c.process)
			var s unwind.Stack
			for range 3 {
				for limit := range chainLength + 10 {
					opt := unwind.Options{MaxFrames: limit}
					warm.Renew()
					warm.WalkInto(&s, c.thread, memory, opt)
					want := walkerOf(c.set, c.names).Walk(c.thread, memory, opt)
					if !slices.Equal(s.Frames, want.Frames) || s.Stop != want.Stop {
						t.Fatalf("limit %d:\ngot  %+v %v (%v)\nwant %+v %v (%v)", limit, s.Frames, s.Stop, s.Err,
							want.Frames, want.Stop, want.Err)
					}
				}
			}
			n := testing.AllocsPerRun(100, func() { warm.WalkInto(&s, c.thread, memory, unwind.Options{}) })
			if n != 0 || s.Stop != unwind.Root || len(s.Frames) < chainLength {
				t.Errorf("got %v allocations, %d frames and stop %v (%v); want 0, at least %d, %v", n, len(s.Frames),
					s.Stop, s.Err, chainLength, unwind.Root)
			}
		})
	}
}

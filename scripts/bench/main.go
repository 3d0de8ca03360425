//go:build linux

// Command bench runs fpstack beside its peers on the same processes and prints how they
// compare. Machines are noisy: rounds of the contestants alternate, medians are compared, and
// only ratios mean anything. Run it by scripts/benchmark, which builds what it needs.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// run is what one run of a command cost.
type run struct {
	wall   time.Duration
	rss    int64 // peak, KiB
	output []byte
}

// measure runs a command once.
func measure(argv ...string) (run, error) {
	var out, complaint bytes.Buffer
	c := exec.Command(argv[0], argv[1:]...)
	c.Stdout, c.Stderr = &out, &complaint
	begun := time.Now()
	err := c.Run()
	wall := time.Since(begun)
	if err != nil {
		return run{}, fmt.Errorf("run %q: %w: %s", argv, err, complaint.String())
	}
	return run{wall, int64(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss), out.Bytes()}, nil
}

// peak measures the memory of one run, KiB, through a fresh copy of this program: a process
// begins with the peak of the one that started it.
func peak(argv []string) (float64, error) {
	out, err := exec.Command("/proc/self/exe", append([]string{"-peak"}, argv...)...).Output()
	if err != nil {
		return 0, fmt.Errorf("run %q: %w", argv, err)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

// printPeak is the fresh copy's part.
func printPeak(argv []string) error {
	r, err := measure(argv...)
	if err != nil {
		return err
	}
	fmt.Println(r.rss)
	return nil
}

// memory prints the peaks of two commands side by side.
func memory(what string, ours, theirs []string) error {
	a, err := peak(ours)
	if err != nil {
		return err
	}
	b, err := peak(theirs)
	if err != nil {
		return err
	}
	fmt.Printf("| %s, peak memory | %.1f MiB | %.1f MiB | | | |\n", what, a/1024, b/1024)
	return nil
}

// contest runs the commands in turn, rounds times, after one round that does not count.
func contest(rounds int, commands ...[]string) ([][]run, error) {
	all := make([][]run, len(commands))
	for round := range rounds + 1 {
		for i, argv := range commands {
			r, err := measure(argv...)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				all[i] = append(all[i], r)
			}
		}
	}
	return all, nil
}

func medianOf[T any](rs []T, value func(T) float64) float64 {
	vs := make([]float64, len(rs))
	for i, r := range rs {
		vs[i] = value(r)
	}
	slices.Sort(vs)
	return vs[len(vs)/2]
}

func milliseconds(r run) float64 { return float64(r.wall) / 1e6 }

// target starts a program and waits until it says that it is ready, or for a moment.
func target(ready bool, argv ...string) (pid string, stop func(), err error) {
	c := exec.Command(argv[0], argv[1:]...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := c.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := c.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { c.Process.Kill(); c.Wait() }
	if ready {
		if _, err := out.Read(make([]byte, 1)); err != nil {
			stop()
			return "", nil, fmt.Errorf("wait for %q: %w", argv, err)
		}
	} else {
		time.Sleep(time.Second) // programs that say nothing have come to rest by then
	}
	return strconv.Itoa(c.Process.Pid), stop, nil
}

// row prints one line of the table.
func row(what string, ours, theirs, bound float64, unit string) {
	verdict := "ok"
	if ours/theirs > bound {
		verdict = "MISSED"
	}
	fmt.Printf("| %s | %.2f %s | %.2f %s | %.3f | %.2f | %s |\n", what, ours, unit, theirs, unit, ours/theirs,
		bound, verdict)
}

// bench knows where the programs are.
type bench struct {
	fpstack, live      string
	cstop, clook       string // the bare C loops
	rounds             int
	many               int    // seconds of the recording with unique stacks
	folded, flamegraph string // the generator of folded stacks; flamegraph.pl
	scripts            string // folder of the targets' sources
}

// peer compares the whole command with eu-stack on one process.
func (b *bench) peer(what string, bound float64, pid string) error {
	ours, theirs := []string{b.fpstack, "-p", pid}, []string{"eu-stack", "-p", pid}
	rs, err := contest(b.rounds, ours, theirs)
	if err != nil {
		return err
	}
	row(what+", against eu-stack", medianOf(rs[0], milliseconds), medianOf(rs[1], milliseconds), bound, "ms")
	return memory(what, ours, theirs)
}

// stopped is how the heading of a dump shows the time of the stop.
var stopped = regexp.MustCompile(`stopped ([0-9.]+) ms`)

// stop compares how long 1,001 threads are stopped.
func (b *bench) stop(pid string) error {
	var ours, least []float64
	for round := range b.rounds + 1 {
		r, err := measure(b.fpstack, "-p", pid)
		if err != nil {
			return err
		}
		found := stopped.FindSubmatch(r.output)
		if found == nil {
			return fmt.Errorf("no time of the stop in %.200q", r.output)
		}
		ms, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			return err
		}
		c, err := measure(b.cstop, pid, "1")
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(string(c.output), " ")
		ns, err := strconv.ParseFloat(strings.TrimSpace(first), 64)
		if err != nil {
			return fmt.Errorf("read %q: %w", c.output, err)
		}
		if round > 0 {
			ours, least = append(ours, ms), append(least, ns/1e6)
		}
	}
	same := func(v float64) float64 { return v }
	row("stop of 1,001 threads, against the least in C", medianOf(ours, same), medianOf(least, same), 1.3, "ms")
	return nil
}

func (b *bench) threads() error {
	pid, stop, err := target(true, filepath.Join(b.live, "threads"), "1000", "30")
	if err != nil {
		return err
	}
	defer stop()
	if err := b.stop(pid); err != nil {
		return err
	}
	return b.peer("whole command, 1,001 threads", 0.2, pid)
}

func (b *bench) sleeper() error {
	pid, stop, err := target(false, "sleep", "1000")
	if err != nil {
		return err
	}
	defer stop()
	return b.peer("whole command, one sleeping process", 0.8, pid)
}

func (b *bench) node() error {
	pid, stop, err := target(false, "node", "-e", "setInterval(() => {}, 1e6)")
	if err != nil {
		return err
	}
	defer stop()
	if err := b.peer("whole command, idle node", 1.0/3, pid); err != nil {
		return err
	}
	ours, theirs := []string{b.fpstack, "-p", pid}, []string{"gdb", "-batch", "-ex", "thread apply all bt", "-p", pid}
	rs, err := contest(3, ours, theirs)
	if err != nil {
		return err
	}
	row("whole command, idle node, against gdb", medianOf(rs[0], milliseconds), medianOf(rs[1], milliseconds), 1, "ms")
	return memory("idle node, beside gdb", ours, theirs)
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "-peak" {
		if err := printPeak(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	b := &bench{}
	only := flag.String("only", "", "one `part` alone: "+strings.Join(partNames(), ", "))
	flag.StringVar(&b.fpstack, "fpstack", "./fpstack", "the program")
	flag.StringVar(&b.live, "live", "testdata/bin/live", "where the targets are")
	flag.StringVar(&b.scripts, "sources", "testdata/live", "where their sources are")
	flag.StringVar(&b.cstop, "cstop", "", "the bare C loop that stops all threads, built")
	flag.StringVar(&b.clook, "clook", "", "the bare C loop that samples one thread, built")
	flag.StringVar(&b.folded, "folded", "", "the generator of folded stacks, built")
	flag.StringVar(&b.flamegraph, "flamegraph", "", "flamegraph.pl, if it is there")
	flag.IntVar(&b.rounds, "rounds", 15, "rounds that count")
	flag.IntVar(&b.many, "many", 60, "seconds of the recording with unique stacks")
	flag.Parse()
	fmt.Println("| what | fpstack | peer | ratio | must be at most | |")
	fmt.Println("|---|---|---|---|---|---|")
	failed := false
	for _, p := range parts {
		if *only != "" && *only != p.name {
			continue
		}
		if err := p.run(b); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", p.name, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// part is one comparison that can be run alone.
type part struct {
	name string
	run  func(*bench) error
}

var parts = []part{
	{"threads", (*bench).threads},
	{"sleeper", (*bench).sleeper},
	{"node", (*bench).node},
	{"dwarf", (*bench).dwarf},
	{"goroutines", (*bench).goroutines},
	{"waits", (*bench).waits},
	{"shares", (*bench).shares},
	{"busy", func(b *bench) error { return errors.Join(b.busy(), b.busyPeers()) }},
	{"slow", func(b *bench) error {
		if err := b.slowdown("99"); err != nil {
			return err
		}
		return b.slowdown("1000")
	}},
	{"parked", (*bench).parked},
	{"cores", (*bench).cores},
	{"pauses", (*bench).pauses},
	{"rate", (*bench).rate},
	{"many", (*bench).memoryOfMany},
	{"flames", func(b *bench) error { return b.flames(b.folded, b.flamegraph) }},
	{"python", func(b *bench) error { return b.python("160") }},
	{"python1", func(b *bench) error { return b.python("1") }},
	{"pydumps", (*bench).pythonDumps},
	{"pyshares", (*bench).pythonShares},
	{"build", (*bench).builds},
	{"tree", (*bench).tree},
}

func partNames() []string {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

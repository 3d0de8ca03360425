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

// memory prints the peaks of two commands side by side. bound is the most that ours is to take, MiB, 0 for none.
func memory(what string, bound float64, ours, theirs []string) error {
	a, err := peak(ours)
	if err != nil {
		return err
	}
	b, err := peak(theirs)
	if err != nil {
		return err
	}
	limit, verdict := "", ""
	if bound > 0 {
		limit, verdict = fmt.Sprintf("%.0f MiB", bound), "ok"
		if a/1024 > bound {
			verdict = "MISSED"
		}
	}
	fmt.Printf("| %s, peak memory | %.1f MiB | %.1f MiB | %.3f | %s | %s |\n", what, a/1024, b/1024, a/b, limit,
		verdict)
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
	empty              string // a program of Go that does nothing
	many               int    // seconds of the recording with unique stacks
	folded, flamegraph string // the generator of folded stacks; flamegraph.pl
	scripts            string // folder of the targets' sources
}

// peer compares the whole command with eu-stack on one process; most is the most memory, MiB, 0 for any.
func (b *bench) peer(what string, bound, most float64, pid string) error {
	ours, theirs := []string{b.fpstack, "-p", pid}, []string{"eu-stack", "-p", pid}
	rs, err := contest(b.rounds, ours, theirs)
	if err != nil {
		return err
	}
	row(what+", against eu-stack", medianOf(rs[0], milliseconds), medianOf(rs[1], milliseconds), bound, "ms")
	return memory(what, most, ours, theirs)
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
	return b.peer("whole command, 1,001 threads", 0.2, 0, pid)
}

// manyThreads shows the memory that eight thousand threads take.
func (b *bench) manyThreads() error {
	pid, stop, err := target(true, filepath.Join(b.live, "threads"), "8000", "30")
	if err != nil {
		return err
	}
	defer stop()
	return memory("8,001 threads", 64, []string{b.fpstack, "-p", pid}, []string{"eu-stack", "-p", pid})
}

// start compares the start and end of fpstack with those of a program of Go that does nothing.
func (b *bench) start() error {
	rs, err := contest(4*b.rounds, []string{b.fpstack, "version"}, []string{b.empty})
	if err != nil {
		return err
	}
	ours, least := medianOf(rs[0], milliseconds), medianOf(rs[1], milliseconds)
	verdict := "ok"
	if ours-least > 1 {
		verdict = "MISSED"
	}
	fmt.Printf("| fpstack version, more than an empty program of Go | %.2f ms | %.2f ms | +%.2f ms | +1 ms | %s |\n",
		ours, least, ours-least, verdict)
	return memory("fpstack version", 0, []string{b.fpstack, "version"}, []string{b.empty})
}

func (b *bench) sleeper() error {
	pid, stop, err := target(false, "sleep", "1000")
	if err != nil {
		return err
	}
	defer stop()
	return b.peer("whole command, one sleeping process", 0.6, 8, pid)
}

func (b *bench) node() error {
	pid, stop, err := target(false, "node", "-e", "setInterval(() => {}, 1e6)")
	if err != nil {
		return err
	}
	defer stop()
	if err := b.peer("whole command, idle node", 1.0/3, 16, pid); err != nil {
		return err
	}
	ours, theirs := []string{b.fpstack, "-p", pid}, []string{"gdb", "-batch", "-ex", "thread apply all bt", "-p", pid}
	rs, err := contest(3, ours, theirs)
	if err != nil {
		return err
	}
	row("whole command, idle node, against gdb", medianOf(rs[0], milliseconds), medianOf(rs[1], milliseconds), 1, "ms")
	return memory("idle node, beside gdb", 0, ours, theirs)
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
	only := flag.String("only", "", "these `parts` alone, separated by commas: "+strings.Join(partNames(), ", "))
	quick := flag.Bool("quick", false, "those that take less than a minute together")
	write := flag.String("write", "", "put the figures of the parts named into this `document`")
	flag.StringVar(&b.fpstack, "fpstack", "./fpstack", "the program")
	flag.StringVar(&b.live, "live", "testdata/bin/live", "where the targets are")
	flag.StringVar(&b.scripts, "sources", "testdata/live", "where their sources are")
	flag.StringVar(&b.cstop, "cstop", "", "the bare C loop that stops all threads, built")
	flag.StringVar(&b.clook, "clook", "", "the bare C loop that samples one thread, built")
	flag.StringVar(&b.empty, "empty", "", "a program of Go that does nothing, built")
	flag.StringVar(&b.folded, "folded", "", "the generator of folded stacks, built")
	flag.StringVar(&b.flamegraph, "flamegraph", "", "flamegraph.pl, if it is there")
	flag.IntVar(&b.rounds, "rounds", 15, "rounds that count")
	flag.IntVar(&b.many, "many", 60, "seconds of the recording with unique stacks")
	flag.Parse()
	if err := b.run(*quick, *only, *write); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run runs the parts that are meant: by name, the quick ones, for a document those that it has, else all.
func (b *bench) run(quick bool, only, document string) error {
	names := partNames()
	switch {
	case only != "":
		names = strings.Split(only, ",")
	case document != "":
		var err error
		if names, err = kept(document); err != nil {
			return err
		}
	}
	wanted := slices.DeleteFunc(slices.Clone(parts), func(p part) bool {
		return quick && !p.quick || !slices.Contains(names, p.name)
	})
	return b.compare(wanted, document)
}

// compare runs parts and prints their table, or puts it into a document.
func (b *bench) compare(wanted []part, document string) error {
	if document != "" {
		var args []string
		flag.Visit(func(f *flag.Flag) {
			if !slices.Contains([]string{"only", "quick", "write"}, f.Name) {
				args = append(args, "-"+f.Name+"="+f.Value.String())
			}
		})
		return measureInto(document, ".", wanted, args)
	}
	fmt.Println("| what | fpstack | beside | ratio | at most | |")
	fmt.Println("|---|---|---|---|---|---|")
	var failed error
	for _, p := range wanted {
		if err := p.run(b); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", p.name, err))
		}
	}
	if doc, err := os.ReadFile(documented); err == nil {
		if old, err := outdated(".", doc); err == nil && len(old) > 0 {
			fmt.Printf("\n%s is older than the code for %s\n", documented, strings.Join(old, ", "))
		}
	}
	return failed
}

// part is one comparison that can be run alone.
type part struct {
	name  string
	rooms []string // whose code it measures
	quick bool     // it takes some seconds
	run   func(*bench) error
}

// Rooms that figures depend on.
var (
	startRooms = []string{"main.go", "go.mod", "cmd", "early"}
	dumpRooms  = append([]string{"dump", "maps", "mem", "procfs", "profile", "regs", "report", "resolve",
		"snapshot", "symbol", "text", "tracer", "unwind", "vm"}, startRooms...)
	recordRooms = []string{"cmd", "maps", "mem", "profile", "regs", "resolve", "sampler", "snapshot", "symbol",
		"tracer", "unwind", "vm"}
	runRooms   = append([]string{"hang", "report", "procfs"}, recordRooms...)
	flameRooms = []string{"flame", "profile"}
)

var parts = []part{
	{"start", startRooms, true, (*bench).start},
	{"threads", dumpRooms, true, (*bench).threads},
	{"sleeper", dumpRooms, true, (*bench).sleeper},
	{"node", dumpRooms, true, (*bench).node},
	{"memory", dumpRooms, false, (*bench).manyThreads},
	{"dwarf", dumpRooms, false, (*bench).dwarf},
	{"goroutines", dumpRooms, false, (*bench).goroutines},
	{"waits", dumpRooms, false, (*bench).waits},
	{"cores", dumpRooms, false, (*bench).cores},
	{"rate", recordRooms, true, (*bench).rate},
	{"shares", recordRooms, false, (*bench).shares},
	{"busy", recordRooms, false, func(b *bench) error { return errors.Join(b.busy(), b.busyPeers()) }},
	{"slow", recordRooms, false, func(b *bench) error {
		if err := b.slowdown("99"); err != nil {
			return err
		}
		return b.slowdown("1000")
	}},
	{"parked", recordRooms, false, (*bench).parked},
	{"pauses", recordRooms, false, (*bench).pauses},
	{"many", recordRooms, false, (*bench).memoryOfMany},
	{"flames", flameRooms, false, func(b *bench) error { return b.flames(b.folded, b.flamegraph) }},
	{"python", recordRooms, false, func(b *bench) error { return b.python("160") }},
	{"python1", recordRooms, false, func(b *bench) error { return b.python("1") }},
	{"pydumps", dumpRooms, false, (*bench).pythonDumps},
	{"pyshares", recordRooms, false, (*bench).pythonShares},
	{"build", runRooms, false, (*bench).builds},
	{"tree", runRooms, false, (*bench).tree},
}

func partNames() []string {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

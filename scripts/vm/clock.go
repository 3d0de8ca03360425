//go:build linux

package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"
)

const interval = 4 * time.Second

// setClock sets the wall clock by d.
func setClock(d time.Duration) error {
	var t unix.Timeval
	if err := unix.Gettimeofday(&t); err != nil {
		return err
	}
	t = unix.NsecToTimeval(unix.TimevalToNsec(t) + d.Nanoseconds())
	if err := unix.Settimeofday(&t); err != nil {
		return fmt.Errorf("set the clock by %v: %w", d, err)
	}
	return nil
}

// slew has the clock run by a tenth too fast, or again as it should.
func slew(fast bool) error {
	const each = 10_000 // microseconds a tick, adjtimex(2)
	x := unix.Timex{Modes: unix.ADJ_TICK, Tick: each}
	if fast {
		x.Tick = each * 11 / 10
	}
	if _, err := unix.Adjtimex(&x); err != nil {
		return fmt.Errorf("slew the clock: %w", err)
	}
	return nil
}

// piece is one profile of the agent's folder.
type piece struct {
	program   string
	from, to  time.Duration // since 1970
	cpu, wall time.Duration
	seen      time.Time // when it appeared, with a monotonic clock
}

func (p piece) length() time.Duration { return p.to - p.from }

// folder is where an agent puts profiles. They are kept in the order in which they came, which no time of the wall
// clock says.
type folder struct {
	dir    string
	mu     sync.Mutex
	known  map[string]bool
	pieces []piece
	err    error
}

func watch(dir string) *folder {
	f := &folder{dir: dir, known: map[string]bool{}}
	go func() {
		for f.look() {
			time.Sleep(50 * time.Millisecond)
		}
	}()
	return f
}

// look reads what came since the last time.
func (f *folder) look() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	names, _ := filepath.Glob(filepath.Join(f.dir, "*.pb.gz")) // the pattern is a good one
	for _, name := range names {
		if f.known[name] {
			continue
		}
		f.known[name] = true
		p, err := readPiece(name)
		if err != nil {
			f.err = err
			return false
		}
		f.pieces = append(f.pieces, p)
	}
	return true
}

// of gives the profiles of a program.
func (f *folder) of(program string) ([]piece, error) {
	f.look()
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []piece
	for _, p := range f.pieces {
		if p.program == program {
			all = append(all, p)
		}
	}
	return all, f.err
}

// more waits until so many more profiles of a program came, for five intervals each.
func (f *folder) more(program string, n int) bool {
	all, _ := f.of(program) // an error shows at the end
	want := max(len(all)+n, 1)
	return await(5*interval*time.Duration(n+1), func() bool { all, _ = f.of(program); return len(all) >= want })
}

func readPiece(name string) (piece, error) {
	p := piece{seen: time.Now()}
	file, err := os.Open(name)
	if err != nil {
		return p, err
	}
	defer file.Close()
	got, err := pprof.Parse(file)
	if err != nil {
		return p, fmt.Errorf("read %s: %w", name, err)
	}
	for _, c := range got.Comments {
		if program, ok := strings.CutPrefix(c, "process.executable.name="); ok {
			p.program = program
		}
	}
	p.from = time.Duration(got.TimeNanos)
	p.to = p.from + time.Duration(got.DurationNanos)
	for i, kind := range got.SampleType {
		for _, s := range got.Sample {
			switch kind.Type {
			case "cpu":
				p.cpu += time.Duration(s.Value[i])
			case "wall":
				p.wall += time.Duration(s.Value[i])
			}
		}
	}
	return p, nil
}

// clock sets the clock in many ways under an agent, a recording and a run.
func (m *machine) clock() {
	m.try("clock/agent", m.clockAgent)
	m.try("clock/record", m.clockRecord)
	m.try("clock/run", m.clockRun)

}

// change is what is done to the clock in the middle of an interval.
type change struct {
	name string
	do   func() error
}

var changes = []change{
	{"+1h", func() error { return setClock(time.Hour) }},
	{"-1h", func() error { return setClock(-time.Hour) }},
	{"+24h", func() error { return setClock(24 * time.Hour) }},
	{"-24h", func() error { return setClock(-24 * time.Hour) }},
	{"+1.7s", func() error { return setClock(1700 * time.Millisecond) }},
	{"-1.7s", func() error { return setClock(-1700 * time.Millisecond) }},
	{"fast", func() error { return slew(true) }},
	{"right", func() error { return slew(false) }},
}

// clockAgent records a busy and a sleeping program while the clock is set.
func (m *machine) clockAgent() error {
	busy, err := m.start(0, "busy", m.file("bin/spin"), "5", "0")
	if err != nil {
		return err
	}
	defer busy.end()
	sleeper, err := m.start(0, "sleeper", m.file("bin/threads-static"), "1", "3")
	if err != nil {
		return err
	}
	defer sleeper.end()
	dir, err := os.MkdirTemp("/var", "profiles")
	if err != nil {
		return err
	}
	f := watch(dir)
	began := time.Now()
	a, err := m.serve("agent", "--push", "file://"+dir, "--interval", interval.String(), "-n", "busy", "-n", "sleeper",
		"--spool-age", "2000h")
	if err != nil {
		return err
	}
	if !f.more("busy", 1) || !f.more("sleeper", 0) {
		return errors.New("no profiles\n" + a.said())
	}
	cpuBefore := cpuOf(busy.pid())
	var at []time.Time
	for _, c := range changes {
		if !f.more("sleeper", 2) {
			return errors.New("no more profiles\n" + a.said())
		}
		time.Sleep(interval / 3)
		at = append(at, time.Now())
		if err := c.do(); err != nil {
			return err
		}
	}
	if !f.more("sleeper", 2) {
		return errors.New("no more profiles\n" + a.said())
	}
	stopped, cpuAfter := time.Now(), cpuOf(busy.pid())
	if status := a.stop(os.Interrupt); status != 0 {
		return fmt.Errorf("status %d\n%s", status, a.said())
	}
	ended := time.Now()
	var wrong []string
	for _, name := range []string{"busy", "sleeper"} {
		all, err := f.of(name)
		if err != nil {
			return err
		}
		wrong = append(wrong, judge(name, all, at, stopped, ended.Sub(began))...)
		if name == "busy" {
			wrong = append(wrong, judgeCPU(all, cpuAfter-cpuBefore)...)
		}
		if wrong != nil {
			for _, p := range all {
				wrong = append(wrong, fmt.Sprintf("%s: came at %.2f s: %.3f s, end %.3f above a multiple, cpu %.3f, "+
					"wall %.3f", name, p.seen.Sub(began).Seconds(), p.length().Seconds(), (p.to%interval).Seconds(),
					p.cpu.Seconds(), p.wall.Seconds()))
			}
		}
	}
	if wrong != nil {
		for i, c := range changes {
			wrong = append(wrong, fmt.Sprintf("%s at %.2f s", c.name, at[i].Sub(began).Seconds()))
		}
		return fmt.Errorf("%s\n%s", strings.Join(wrong, "\n"), a.said())
	}
	return nil
}

// judge says what is wrong with the profiles of one program of one sleeping or one computing thread, between changes at
// these times.
func judge(name string, all []piece, at []time.Time, stopped time.Time, most time.Duration) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, name+": "+fmt.Sprintf(format, args...)) }
	if len(all) < len(at) {
		say("%d profiles", len(all))
		return wrong
	}
	var length, wall time.Duration
	next := 0
	settled := 1 // the first is as long as it takes to the first multiple
	for i, p := range all {
		length += p.length()
		wall += p.wall
		inner := i > 0 && i < len(all)-1
		if inner && (p.length() < interval/2-interval/100 || p.length() > interval*3/2+interval/100) {
			say("an interval of %v", p.length())
		}
		// The interval that goes on ends as planned, the next one at a multiple again.
		for next < len(at) && p.seen.After(at[next]) {
			next, settled = next+1, i+1
		}
		off := p.to % interval
		off = min(off, interval-off)
		if inner && i >= settled && off > interval/40 {
			say("an end %v off a multiple, %v after the last change", off, p.seen.Sub(at[max(next-1, 0)]))
		}
	}
	// From the end of the first, which was seen a moment later, to the end of the agent.
	least := stopped.Sub(all[0].seen) + all[0].length()
	note("clock %s: %d profiles of %.3f s together, wall %.3f s; at least %.3f s and at most %.3f s passed", name,
		len(all), length.Seconds(), wall.Seconds(), least.Seconds(), most.Seconds())
	if length < least-interval/20 || length > most {
		say("profiles of %v together, and %v to %v passed", length, least, most)
	}
	threads := math.Round(wall.Seconds() / length.Seconds())
	if off := math.Abs(wall.Seconds()/length.Seconds() - threads); threads < 1 || off > 0.02*threads {
		say("wall is %v, profiles are %v together", wall, length)
	}
	return wrong
}

// judgeCPU compares CPU time after the first profile with what the kernel counted from then on.
func judgeCPU(all []piece, used time.Duration) []string {
	var cpu time.Duration
	for _, p := range all[min(1, len(all)):] {
		cpu += p.cpu
	}
	note("clock busy: cpu %.3f s, by the kernel %.3f s", cpu.Seconds(), used.Seconds())
	if off := (used - cpu).Abs(); off > used/50+interval/4 {
		return []string{fmt.Sprintf("busy: CPU time of %v, and it used %v", cpu, used)}
	}
	return nil
}

// cpuOf is the CPU time that a process has used, by its schedstat.
func cpuOf(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid)) // zero fails the comparison
	var ns int64
	fmt.Sscan(string(text), &ns)
	return time.Duration(ns)
}

// clockRecord sets the clock in the middle of recordings.
func (m *machine) clockRecord() error {
	sleeper, err := m.start(0, "sleeper", m.file("bin/threads-static"), "1", "3")
	if err != nil {
		return err
	}
	defer sleeper.end()
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		after := time.AfterFunc(2*time.Second, func() { _ = setClock(by) }) // the length shows whether it was
		wall := time.Now().Round(0)
		r := root(m.fpstack(), "record", "-p", sleeper.id(), "-d", "4", "-o", "/tmp/sleeper.pb.gz")
		after.Stop()
		if set := time.Now().Round(0).Sub(wall) - r.took; (set - by).Abs() > time.Second {
			return fmt.Errorf("the clock was set by %v, not by %v", set, by)
		}
		if err := r.wants(0); err != nil {
			return err
		}
		p, err := readPiece("/tmp/sleeper.pb.gz")
		if err != nil {
			return err
		}
		if !near(r.took, 4*time.Second) || !near(p.length(), 4*time.Second) {
			return fmt.Errorf("clock set by %v: it took %v, the profile is %v long\n%v", by, r.took, p.length(), r)
		}
	}
	return nil
}

// near says whether a time is what was wanted, or at most a second longer.
func near(got, want time.Duration) bool {
	return got > want-100*time.Millisecond && got < want+time.Second
}

// clockRun sets the clock while limits of run count: it takes as long as without.
func (m *machine) clockRun() error {
	for _, limit := range []string{"--deadline", "--idle"} {
		run := func() result {
			return root(m.fpstack(), "run", limit, "4s", "--kill-after", "2s", "--", "sleep", "60")
		}
		plain := run()
		for _, by := range []time.Duration{time.Hour, -time.Hour} {
			time.AfterFunc(time.Second, func() { _ = setClock(by) }) // the time that run takes is compared
			r := run()
			if err := r.wants(124, "blocked"); err != nil {
				return err
			}
			note("run %s 4s: %.1f s, with the clock set by %v %.1f s", limit, plain.took.Seconds(), by,
				r.took.Seconds())
			if r.took < 3900*time.Millisecond || r.took > 2*plain.took {
				return fmt.Errorf("%s 4s with the clock set by %v, and without %v\n%v", limit, by, plain.took, r)
			}
		}
	}
	return nil
}

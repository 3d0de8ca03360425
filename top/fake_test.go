package top

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// spent says how much a stack got. Frames are outermost first, as in folded files:
// "name", "name@module" or "name@module@file:line"; a name in [] is a wait in the kernel.
type spent struct {
	stack  string
	thread string // its id is made of it, see taskOf
	wall   time.Duration
}

// sampleEvery is the time between two samples in the profiles of the tests.
const sampleEvery = 10 * time.Millisecond

// testProfile builds a profile with samples and wall time.
func testProfile(list ...spent) *profile.Profile {
	b := profile.NewBuilder(profile.SamplesCount, profile.WallTime)
	p := b.Profile()
	p.Default = 1
	modules := map[string]int{}
	for _, s := range list {
		var n profile.NodeID
		for _, text := range strings.Split(s.stack, ";") {
			n = b.Child(n, b.Frame(testFrame(text, p, modules)))
		}
		b.Add(n, b.Task(taskOf(s.thread)), int64(s.wall/sampleEvery), int64(s.wall))
	}
	return p
}

func testFrame(text string, p *profile.Profile, modules map[string]int) profile.Frame {
	parts := strings.SplitN(text, "@", 3)
	f := profile.Frame{Func: parts[0], Module: -1}
	if strings.HasPrefix(text, "[") {
		return profile.Frame{Func: strings.Trim(text, "[]"), Module: -1, Kind: profile.Kernel}
	}
	if addr, ok := strings.CutPrefix(f.Func, "0x"); ok {
		f.Func = ""
		f.ModuleAddr, _ = strconv.ParseUint(addr, 16, 64)
	}
	if len(parts) > 1 && parts[1] != "" {
		i, ok := modules[parts[1]]
		if !ok {
			i = len(p.Modules)
			p.Modules = append(p.Modules, profile.Module{Path: parts[1]})
			modules[parts[1]] = i
		}
		f.Module = i
	}
	if len(parts) > 2 {
		file, line, _ := strings.Cut(parts[2], ":")
		f.File = file
		f.Line, _ = strconv.Atoi(line)
	}
	return f
}

// taskOf is a thread of process 7 "prog" whose id is 100 and the last letter's place in the
// alphabet.
func taskOf(name string) profile.Task {
	if name == "" {
		name = "a"
	}
	return profile.Task{PID: 7, TID: 100 + int(name[len(name)-1]-'a'), Process: "prog", Thread: name}
}

// model gives a model of an 80x24 terminal that took each profile, a second after the one before.
func modelOf(t *testing.T, opt Options, takes ...*profile.Profile) *model {
	t.Helper()
	m := newModel(opt.withDefaults())
	for i, p := range takes {
		m.take(p, time.Duration(i+1)*time.Second, Stats{})
		if len(m.problems) > 0 {
			t.Fatalf("take %d: %v", i, m.problems)
		}
	}
	return m
}

// rowsText shows the rows as "name self total" in milliseconds.
func rowsText(rows []row) []string {
	var list []string
	for i := range rows {
		r := &rows[i]
		list = append(list, r.name+" "+ms(r.self.value)+" "+ms(r.total.value))
	}
	return list
}

func ms(ns float64) string { return strconv.FormatFloat(ns/1e6, 'f', -1, 64) }

func callsText(list []call) []string {
	var texts []string
	for _, c := range list {
		texts = append(texts, c.name+" "+ms(c.got.value))
	}
	return texts
}

// program2 is some of program, to be beside other stacks.
func program2() []spent {
	return []spent{
		{"main@/bin/prog@m.c:1;work@/bin/prog@m.c:20;leaf@/lib/libx.so.1@x.c:5", "a", 300 * time.Millisecond},
		{"start@/lib/libc.so.6;idle@/bin/prog;[futex]", "b", time.Second},
	}
}

// sinceStart is the part of the head that a clock makes.
var sinceStart = regexp.MustCompile(`since start [0-9.]+ [a-zµ]+`)

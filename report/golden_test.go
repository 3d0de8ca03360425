package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// bracketed is a Style that shows where each piece begins and ends.
func bracketed(part Part, piece string) string {
	return "<" + [...]string{"heading", "thread", "wait", "function", "address", "source", "module", "cut"}[part] +
		":" + piece +
		">"
}

// cases are the dumps of the goldens; each is named after the situation and, behind a "--",
// the options of the command line that lead to it.
func cases() []goldenCase {
	group, all := Options{Group: true}, Options{Group: true, All: true}
	return []goldenCase{
		{"grouped", redis(), group},
		{"grouped--no-group", redis(), Options{}},
		{"grouped--no-inlines--no-lines", redis(), Options{Group: true, NoInlines: true, NoLines: true}},
		{"grouped--skip-frames-2", redis(), Options{Group: true, SkipFrames: 2}},
		{"grouped--skip-frames-9", redis(), Options{Group: true, SkipFrames: 9}},
		{"grouped--all", redis(), all},
		{"grouped--verbose", verboseDump(), Options{Group: true, Verbose: true}},
		{"grouped--color-always", stopped("not advancing", ""), Options{Group: true, Style: bracketed}},
		{"grouped--source", withSources(), group},
		{"grouped--kernel", withKernelStacks(), all},
		{"debug-files--verbose", withDebugFiles(), Options{Group: true, Verbose: true}},
		{"one-thread", one(redis().Threads[0].Stack), group},
		{"rolling--all", rolling(), all},
		{"stop-no-rule", stopped("no rule", ""), group},
		{"stop-bad-cfa", stopped("bad CFA", ""), group},
		{"stop-not-advancing", stopped("not advancing",
			"frame pointer 0x7ffd5a3c1e40 did not grow (previous 0x7ffd5a3c1e40)"), group},
		{"stop-read-fault", stopped("read fault", ""), group},
		{"stop-depth-limit", stopped("depth limit", ""), group},
		{"stop-not-told", stopped("", ""), group},
		{"not-stopped", notStopped(), group},
		{"names-differ--all", namesDiffer(), all},
		{"descriptors", descriptors(), group},
		{"many-calls", manyCalls(), group},
		{"many-calls--verbose", manyCalls(), Options{Group: true, Verbose: true}},
		{"no-symbols", noSymbols(), group},
		{"special-frames", specialFrames(), group},
		{"escapes", hostile("a\x1b[31m\n\r\t\x00\\\"\x7f\u009b\u202e\u2028\u200b\xff\xc3é漢\U000e0001"),
			Options{Group: true, Verbose: true}},
		{"core", crashed(), group},
		{"event-loop", waitsInLoops(), group},
		{"event-loop--verbose", waitsInLoops(), Options{Group: true, Verbose: true}},
		{"fibers", goroutines(), group},
		{"fibers--no-group", goroutines(), Options{}},
		{"tasks", tasks(), group},
		{"fibers--verbose", goroutines(), Options{Group: true, Verbose: true}},
		{"zero-threads", &profile.Dump{Process: profile.Process{PID: 9, Comm: "gone"}, Exited: 2}, group},
		{"threads-2000", crowd(2000), group},
		{"threads-2000--all", crowd(2000), all},
	}
}

type goldenCase struct {
	name string
	dump *profile.Dump
	opt  Options
}

func verboseDump() *profile.Dump {
	d := redis()
	d.Threads[0].Wchan = "do_epoll_wait"
	d.Threads[1].Stack.Frames[2].Origin, d.Threads[1].Stack.Frames[2].Note = "frame pointer", "no table covers the code"
	d.Modules = append(d.Modules, profile.Module{Path: "/tmp/plugin.so (deleted)", Base: 0x7f3a1a000000,
		Err: `open "/tmp/plugin.so": no such file`})
	d.Problems = []string{`symbols of "/tmp/plugin.so": no such file`}
	return d
}

// withSources has source lines, among them those of a file that was changed and may hold anything.
func withSources() *profile.Dump {
	d := redis()
	d.Sources = map[string]profile.Source{
		"src/ae_epoll.c": {Lines: map[int]string{97: "}"}},
		"src/ae.c": {Newer: true, Lines: map[int]string{346: "\tif (x) {",
			347: "\t\tretval = poll(\"\x1b[2J\\\");", 348: "",
			489: "while (!stop)", 490: "\xff\u202ex", 491: "}"}},
		"src/server.c": {Lines: map[int]string{1: "not this one"}},
	}
	return d
}

// withKernelStacks has one thread whose kernel stack was read, and others where that was refused.
func withKernelStacks() *profile.Dump {
	d := redis()
	d.Threads[0].KernelStack = []string{"[<0>] ep_poll+0x3a5/0x3f0", "do_epoll_wait+0xb2/0xd0"}
	d.Threads[0].Wchan = "ep_poll"
	for i := range d.Threads[1:] {
		d.Threads[1+i].Wchan = "futex_wait_queue"
	}
	return d
}

func withDebugFiles() *profile.Dump {
	d := one(complete(native(0, 0x7f3a1b2f0e26, "read", 0x16, "", 0, libc)))
	d.Modules = []profile.Module{d.Modules[server],
		{Path: "/lib/libc.so.6", Symbols: []string{".symtab"}, DebugFile: "/usr/lib/debug/a\n.debug",
			Unread: "lines not read: 9 MB compressed"}}
	return d
}

func rolling() *profile.Dump {
	d := redis()
	d.Rolling, d.Exited, d.Stopped = true, 1, 3*time.Millisecond
	return d
}

func notStopped() *profile.Dump {
	d := redis()
	d.Threads[1] = profile.Thread{TID: 4122, Name: "bio_aof", State: "D", Wchan: "folio_wait_bit_common",
		NotStopped: "state D did not change within 1s",
		Syscall: &profile.Syscall{Number: 74, Name: "fsync",
			Args: []profile.Arg{{Text: "7", Value: 7, FD: "/var/lib/redis/a.aof"}}},
		KernelStack: []string{"[<0>] folio_wait_bit_common+0x13d/0x350", "[<0>] file_write_and_wait_range+0x90/0xc0"},
		Stack:       profile.Stack{Stop: "not stopped"}}
	d.Threads[2].NotStopped = "traced by gdb (pid 812)"
	d.Threads[2].Stack.Complete, d.Threads[2].Stack.Stop = false, "no rule"
	return d
}

func namesDiffer() *profile.Dump {
	d := crowd(5)
	d.Threads = d.Threads[1:]
	d.Threads[1].State, d.Threads[1].Syscall = "R", nil
	d.Threads[3].TID = 9000
	return d
}

func descriptors() *profile.Dump {
	d := one(complete(native(0, 0x7f3a1b2f0e26, "read", 0x16, "", 0, libc)))
	d.Threads[0].Syscall = &profile.Syscall{Number: 0, Name: "read", Args: []profile.Arg{
		{Name: "fd", Value: 0, Text: "0", FD: "/dev/pts/1"},
		{Name: "buf", Value: 0x7f3a1b3c2000, Text: "0x7f3a1b3c2000"},
		{Name: "count", Value: 1024, Text: "1024"}}}
	for i, fd := range []string{"pipe:[123]", "tcp 127.0.0.1:80 -> 127.0.0.1:4242 ESTABLISHED"} {
		t := d.Threads[0]
		call := *t.Syscall
		call.Args = append([]profile.Arg{{Name: "fd", Value: uint64(3 + i), Text: string(rune('3' + i)), FD: fd}},
			call.Args[1:]...)
		t.TID, t.Syscall = 4130+i, &call
		d.Threads = append(d.Threads, t)
	}
	return d
}

// manyCalls has five threads at one address in different calls, more than are shown in full.
func manyCalls() *profile.Dump {
	d := descriptors()
	unknown := d.Threads[0]
	unknown.TID, unknown.Syscall = 4140, &profile.Syscall{Number: 999, Args: []profile.Arg{{Value: 0x10}}}
	fault := d.Threads[0]
	fault.TID, fault.Syscall, fault.State = 4141, &profile.Syscall{Number: -1}, "D"
	d.Threads = append(d.Threads, unknown, fault)
	return d
}

// noSymbols is of a stripped 32-bit program.
func noSymbols() *profile.Dump {
	d := one(complete(
		profile.Frame{Index: 0, Addr: 0xf7f2c579, Interrupted: true, Kind: profile.VDSO, Module: 1, ModuleAddr: 0x579},
		profile.Frame{Index: 1, Addr: 0x8049f2c, Module: 0, ModuleAddr: 0x8049f2c},
		profile.Frame{Index: 2, Addr: 0x1000, Kind: profile.Unknown, Module: -1},
	))
	d.Process.Arch = "386"
	d.Modules = []profile.Module{{Path: "/opt/legacy"}, {Path: "[vdso]", Base: 0xf7f2c000}}
	return d
}

func specialFrames() *profile.Dump {
	return one(complete(
		profile.Frame{Index: 0, Addr: 0x3f7d11a0, Kind: profile.JIT, Func: "handle", Offset: 0x20, File: "app.js",
			Module: -1, Interrupted: true},
		profile.Frame{Index: 1, Addr: 0x7f3a1b2425a0, Kind: profile.Signal, Func: "__restore_rt", Module: libc,
			ModuleAddr: 0x425a0},
		profile.Frame{Index: 2, Addr: 0xffffffffff600000, Module: 99, Kind: profile.Unknown, Note: "the word at SP"},
		profile.Frame{Index: 3, Addr: 0x7f3a1c000123, Module: -1, Kind: profile.Unknown, Func: "[jit anon:v8\n]",
			Offset: 0x123},
		profile.Frame{Index: 100, Addr: 0xffffffff81000000, Kind: profile.Kernel, Func: "entry", Module: -1},
	))
}

func TestTextGoldens(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			var got bytes.Buffer
			if err := Text(&got, c.dump, c.opt); err != nil {
				t.Fatal(err)
			}
			compare(t, c.name+".txt", got.Bytes())
		})
	}
}

func TestJSONGoldens(t *testing.T) {
	for _, c := range cases() {
		switch c.name {
		case "grouped", "grouped--kernel", "debug-files--verbose", "fibers", "not-stopped", "escapes", "zero-threads",
			"no-symbols", "core":
		default:
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			var got bytes.Buffer
			if err := JSON(&got, c.dump, c.opt); err != nil {
				t.Fatal(err)
			}
			compare(t, c.name+"--format-json.json", got.Bytes())
		})
	}
}

// compare compares got with a golden, or rewrites it under -update.
func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("output differs from %s; got:\n%s\nwant:\n%s", file, got, want)
	}
}

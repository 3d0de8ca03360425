package page

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// shop is a profile of two processes whose sums are worked out here by hand, in samples of 10 ms:
//
//	server, thread 100:  main · parse · read_file · read (waits) 30
//	                     main · parse · json::decode (inlined, library) 20
//	                     main · work · copy 10
//	server, thread 101:  main · work · hash 50;  main · work · hash · hash 20
//	                     main · work · libz.so.1+0x0 5;  main · Interpreter (JIT) 25
//	helper, thread 200:  loop · epoll_wait (waits) 40
func shop() *profile.Profile {
	b := profile.NewBuilder(profile.SamplesCount, profile.WallTime, profile.CPUTime)
	p := b.Profile()
	p.Modules = []profile.Module{{Path: "/usr/bin/server"}, {Path: "/usr/lib/libz.so.1"}}
	p.Command, p.Duration, p.Period = []string{"server", "-v"}, 1e9, 1e7
	p.Comments = []string{"3 stacks were cut"}
	main := b.Task(profile.Task{PID: 100, TID: 100, Process: "server", Thread: "main"})
	worker := b.Task(profile.Task{PID: 100, TID: 101, Process: "server", Thread: "worker"})
	helper := b.Task(profile.Task{PID: 200, TID: 200, Process: "helper", Thread: "helper"})
	wait := func(name string) profile.Frame {
		return profile.Frame{Func: name, Kind: profile.Kernel, Module: -1}
	}
	at := map[int]int64{}
	add := func(task int, n int64, frames ...profile.Frame) {
		node := profile.NodeID(0)
		for _, f := range frames {
			node = b.Child(node, b.Frame(f))
		}
		cpu := n * 1e7
		if frames[len(frames)-1].Kind == profile.Kernel {
			cpu = 0
		}
		b.Add(node, task, n, n*1e7, cpu)
		p.Runs = append(p.Runs, profile.Run{Task: task, Stack: node, At: time.Duration(at[task] * 1e7),
			For: time.Duration(n * 1e7)})
		at[task] += n
	}
	m, parse, work, hash := fn("main"), fn("parse"), fn("work"), fn("hash")
	add(main, 30, m, parse, fn("read_file"), wait("read"))
	add(main, 20, m, parse, profile.Frame{Func: "json::decode<char>(std::string const&)", Inlined: true, Module: 1,
		File: "json.h", Line: 12})
	add(main, 10, m, work, profile.Frame{Func: "copy", Module: 1})
	add(worker, 50, m, work, hash)
	add(worker, 20, m, work, hash, hash)
	add(worker, 5, m, work, profile.Frame{Module: 1})
	add(worker, 25, m, profile.Frame{Func: "Interpreter.run", Kind: profile.JIT, Module: -1})
	add(helper, 40, fn("loop"), wait("epoll_wait"))
	return p
}

// perfLike has 100 samples: 10 wait, 70 end in a function of the kernel and ran.
func perfLike() *profile.Profile {
	b := profile.NewBuilder(profile.SamplesCount)
	b.Profile().Modules = []profile.Module{{Path: "/bin/prog"}, {Path: "[kernel.kallsyms]"}}
	main := b.Child(0, b.Frame(fn("main")))
	b.Add(main, -1, 20)
	b.Add(b.Child(main, b.Frame(profile.Frame{Func: "vfs_read", Kind: profile.Kernel, Module: 1})), -1, 70)
	b.Add(b.Child(main, b.Frame(profile.Frame{Func: "read", Kind: profile.Kernel, Module: -1})), -1, 10)
	return b.Profile()
}

// languages has a function of each kind: 130 samples, 110 below those of languages.
func languages() *profile.Profile {
	b := profile.NewBuilder(profile.SamplesCount)
	b.Profile().Modules = []profile.Module{{Path: "/bin/node"}, {Path: "/lib/libc.so.6"}}
	add := func(n int64, frames ...profile.Frame) {
		node := profile.NodeID(0)
		for _, f := range frames {
			node = b.Child(node, b.Frame(f))
		}
		b.Add(node, -1, n)
	}
	main := fn("main")
	script := profile.Frame{Func: "handler", Kind: profile.JavaScript, Module: -1, File: "/srv/app.js", Line: 7}
	python := profile.Frame{Func: "iterencode", Kind: profile.Python, Module: -1, File: "/srv/app.py", Line: 3}
	wasm := profile.Frame{Func: "blur", Kind: profile.Wasm, Module: -1}
	c := profile.Frame{Func: "memcpy", Module: 1}
	add(30, main, script)
	add(20, main, script, fn("v8::Compile"), c)
	add(10, main, python, fn("PyDict_Next"))
	add(5, main, python, fn("call"), wasm)
	add(15, main, wasm)
	add(20, main, c)
	for kind := profile.JavaScript; kind.Language(); kind++ {
		switch kind {
		case profile.JavaScript, profile.Python, profile.Wasm:
		default:
			add(4, main, profile.Frame{Func: "in_" + kind.String(), Kind: kind, Module: -1})
			add(2, main, profile.Frame{Func: "in_" + kind.String(), Kind: kind, Module: -1}, fn("native"))
		}
	}
	return b.Profile()
}

// wrapperAndWait has libc's poll and the system call of that name.
func wrapperAndWait() *profile.Profile {
	b := profile.NewBuilder(profile.WallTime)
	b.Profile().Modules = []profile.Module{{Path: "/bin/prog"}, {Path: "/lib/libc.so.6"}}
	main := b.Child(0, b.Frame(fn("main")))
	poll := b.Child(main, b.Frame(profile.Frame{Func: "poll", Module: 1}))
	b.Add(poll, -1, 10)
	b.Add(b.Child(poll, b.Frame(profile.Frame{Func: "poll", Kind: profile.Kernel, Module: -1})), -1, 90)
	return b.Profile()
}

// boxes has 1,200 functions beside each other, each with seven below it, and one as deep that is wide.
func boxes() *profile.Profile {
	lines := []string{"wide;a;b;c;d;e;f;g 100"}
	for i := range 1200 {
		var names []string
		for depth := range 8 {
			names = append(names, fmt.Sprintf("f%d_%d", i, depth))
		}
		lines = append(lines, strings.Join(names, ";")+" 1")
	}
	return stacks(profile.SamplesCount, lines...)
}

// sum is what the samples hold whose stack, innermost first, has yes.
func sum(p *profile.Profile, typ int, yes func(stack []profile.Frame, task int) bool) int64 {
	total := int64(0)
	for i, s := range p.Samples {
		var stack []profile.Frame
		for _, f := range p.Tree.Append(nil, s.Stack) {
			stack = append(stack, p.Frames[f])
		}
		if yes(stack, s.Task) {
			total += p.Value(i)[typ]
		}
	}
	return total
}

func has(stack []profile.Frame, part string) bool {
	return slices.ContainsFunc(stack, func(f profile.Frame) bool { return strings.Contains(f.Func, part) })
}

// fixtures writes the documents that browser/run.mjs opens, and what it must find in them.
func fixtures(t *testing.T, dir string) {
	t.Helper()
	p := shop()
	old := stacks(profile.WallTime, "main;work;hash 500", "main;forgotten 500")
	docs := map[string]struct {
		p   *profile.Profile
		opt Options
	}{
		"shop": {p, Options{Waits: true}}, "shop-static": {p, Options{Static: true, Waits: true}},
		"idle": {p, Options{}}, "idle-static": {p, Options{Static: true}},
		"source": {p, Options{Waits: true,
			Sources: map[string]profile.Source{"/src/hash.c": {Newer: true, Lines: map[int]string{
				5: "int hash(char *s)", 6: "{",
				7: "\treturn *s ? 31 * hash(s + 1) : 0; // </script><img src=x onerror=1>",
				8: "}", 12: "not near"}}}}},
		"asleep": {stacks(profile.WallTime, "main;[poll] 10"), Options{}},
		"diff": {nil,
			Options{Diff: compared(stacks(profile.WallTime, "main;work;hash 200", "main;work;copy 700",
				"main;parse 100"), old)}},
		"hostile": {hostileProfile(), Options{}}, "deep": {deep(2000), Options{}},
		"threads":   {p, Options{Threads: true, Waits: true}},
		"languages": {languages(), Options{}}, "apart": {languages(), Options{Native: true}},
		"perf": {perfLike(), Options{Waits: true}}, "wrapper": {wrapperAndWait(), Options{Waits: true}},
		"noise": {nil,
			Options{Diff: compared(stacks(profile.SamplesCount, "main;same 210", "main;grown 420", "main;new 370"),
				stacks(profile.SamplesCount, "main;same 200", "main;grown 180", "main;forgotten 250",
					"main;new 370"))}},
		"boxes": {boxes(), Options{}}, "shaft": {deep(8000), Options{}},
		"many": {generated(3000), Options{Type: 1, Waits: true}}, "empty": {stacks(profile.SamplesCount), Options{}},
	}
	for _, n := range sizes() {
		docs[fmt.Sprintf("lines-%d", n)] = struct {
			p   *profile.Profile
			opt Options
		}{folded(n), Options{}}
	}
	for name, d := range docs {
		for ending, write := range map[string]func(io.Writer, *profile.Profile, Options) error{".html": HTML,
			".svg": SVG} {
			page := []byte(written(t, write, d.p, d.opt))
			if err := os.WriteFile(filepath.Join(dir, name+ending), page, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	many := docs["many"].p
	waits := func(s []profile.Frame, _ int) bool { return s[0].Kind == profile.Kernel }
	want := map[string]any{
		"total":    sum(p, 0, func([]profile.Frame, int) bool { return true }),
		"cpu":      sum(p, 2, func([]profile.Frame, int) bool { return true }),
		"waiting":  sum(p, 0, waits),
		"worker":   sum(p, 0, func(_ []profile.Frame, task int) bool { return task == 1 }),
		"helper":   sum(p, 0, func(_ []profile.Frame, task int) bool { return task == 2 }),
		"hash":     sum(p, 0, func(s []profile.Frame, _ int) bool { return has(s, "hash") }),
		"hashSelf": sum(p, 0, func(s []profile.Frame, _ int) bool { return s[0].Func == "hash" }),
		"work":     sum(p, 0, func(s []profile.Frame, _ int) bool { return has(s, "work") }),
		"noParse":  sum(p, 0, func(s []profile.Frame, _ int) bool { return !has(s, "parse") }),
		"libz": sum(p, 0, func(s []profile.Frame, _ int) bool {
			return slices.ContainsFunc(s, func(f profile.Frame) bool { return f.Module == 1 })
		}),
		"manyHandle1": sum(many, 1, func(s []profile.Frame, _ int) bool { return has(s, "handle_1") }),
		"manyTotal":   sum(many, 1, func([]profile.Frame, int) bool { return true }),
		"sizes":       sizes(),
		"others":      others(),
	}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "want.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// others are the functions of languages that has one besides those of JavaScript, Python and WebAssembly.
func others() []string {
	var names []string
	for _, f := range languages().Frames {
		if strings.HasPrefix(f.Func, "in_") {
			names = append(names, f.Func)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sizes are the numbers of folded lines that are timed; the last takes half a minute to make.
func sizes() []int {
	if os.Getenv("FPSTACK_SOAK") != "" {
		return []int{10_000, 100_000, 1_000_000}
	}
	return []int{10_000, 100_000}
}

// TestInChromium opens pages and pictures in a real browser: with FPSTACK_BROWSER=1 all of them, else with those checks
// alone whose names match it. scripts/browser-test brings what
// it needs and fails where that cannot be had; go test alone skips then.
func TestInChromium(t *testing.T) {
	if os.Getenv("FPSTACK_BROWSER") == "" {
		t.Skip("a browser is driven in a step of its own: scripts/browser-test")
	}
	for _, command := range []string{"node", "chromium"} {
		if _, err := exec.LookPath(command); err != nil {
			t.Fatalf("no %s: scripts/browser-test says what is needed", command)
		}
	}
	if _, err := os.Stat("browser/node_modules/playwright-core"); err != nil {
		t.Fatal("playwright-core is not installed: run scripts/browser-test")
	}
	dir := t.TempDir()
	fixtures(t, dir)
	cmd := exec.Command("node", "browser/run.mjs", dir)
	if checks := os.Getenv("FPSTACK_BROWSER"); checks != "1" {
		cmd.Args = append(cmd.Args, checks)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	checks := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		name, failed := strings.CutPrefix(line, "not ok ")
		name, passed := strings.CutPrefix(name, "ok ")
		if !failed && !passed {
			t.Log(line)
			continue
		}
		checks++
		name, why, _ := strings.Cut(name, ": ")
		t.Run(name, func(t *testing.T) {
			if failed {
				t.Error(why)
			}
		})
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("node browser/run.mjs: %v\n%s", err, stderr.Bytes())
	}
	if checks < 30 && os.Getenv("FPSTACK_BROWSER") == "1" {
		t.Errorf("%d checks ran, want at least 30", checks)
	}
}

package page

import (
	"fmt"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// random is xorshift64: the generated profiles are the same on every machine.
// Source: G. Marsaglia, Xorshift RNGs, Journal of Statistical Software 8 (14), 2003.
type random uint64

func (r *random) below(n int) int {
	x := *r
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	*r = x
	return int(uint64(x>>16) % uint64(n))
}

// generated is a profile of so many stacks in 12 threads, depth up to 60, a
// leaf in the kernel for half of them.
func generated(stacks int) *profile.Profile {
	r, b := random(88172645463325252), profile.NewBuilder(profile.SamplesCount, profile.WallTime, profile.CPUTime)
	p := b.Profile()
	p.Modules = []profile.Module{{Path: "/usr/bin/server"}, {Path: "/usr/lib/x86_64-linux-gnu/libc.so.6"},
		{Path: "/usr/lib/libcrypto.so.3"}, {Path: "/usr/lib/libjvm.so"}}
	p.Command = []string{"server", "--port", "8080"}
	p.Duration, p.Period = 30*time.Second, 10101010*time.Nanosecond
	functions := min(18000, 1500+stacks/50)
	for t := range 12 {
		b.Task(profile.Task{PID: 4121 + t/8, TID: 4121 + t, Process: []string{"server", "helper"}[t/8],
			Thread: fmt.Sprintf("worker-%d", t)})
	}
	type seen struct {
		node  profile.NodeID
		depth int
		at    int
	}
	known := []seen{{}}
	for range stacks {
		// A stack leaves one seen before a few frames above its end: sharing as recordings have.
		from, task := known[r.below(len(known))], r.below(12)
		node, depth, at := from.node, from.depth, from.at
		for range min(depth, r.below(6)) {
			node, depth = p.Tree.Parent(node), depth-1
		}
		for range 1 + r.below(6) {
			if depth < 59 {
				at = (at*31 + 1 + r.below(1+r.below(functions))) % functions
				node, depth = b.Child(node, b.Frame(namedFrame(at))), depth+1
			}
		}
		known = append(known, seen{node, depth, at})
		wall, cpu := int64(10101010), int64(10000000)
		if r.below(2) == 0 {
			cpu = 0
			call := []string{"epoll_wait", "futex", "read"}[r.below(3)]
			node = b.Child(node, b.Frame(profile.Frame{Func: call, Kind: profile.Kernel, Module: -1}))
		}
		weight := int64(1 + r.below(20))
		b.Add(node, task, weight, weight*wall, weight*cpu)
	}
	return p
}

func namedFrame(i int) profile.Frame {
	f := profile.Frame{Module: i % 4, Line: 10 + i%900, File: fmt.Sprintf("/src/server/part%d/file%d.cc", i%17, i%211)}
	f.Func = fmt.Sprintf("server::part%d::Handler%d<int, std::string>::handle_%x(Request const&)", i%17, i%53,
		int64(i)*2654435761%1048576)
	switch {
	case i%11 == 3:
		f.Kind, f.Module, f.Func, f.File = profile.JIT, -1, fmt.Sprintf("app.module%d.method_%d", i%9, i), ""
	case i%13 == 5:
		f.Inlined = true
	case i%29 == 7:
		f.Func, f.File, f.Line = "", "", 0
	}
	return f
}

// hostile are names that would do harm where they are not escaped.
var hostile = []string{
	"</script><script>document.title='owned'</script>", "<img src=x onerror=\"document.title='owned'\">", "]]>", "<!--",
	"-->",
	"a\x00\x01\x1b[31mb\x7f", "bad \xff\xfe utf8", "\u202egnp.exe", "a&amp;b", `"'><svg onload=alert(1)>`,
	"\ufffe\uffff", "\u0085\u2028",
	"${document.title='owned'}", "\\u003cscript>", "javascript:alert(1)", "",
}

// Package unshown says which languages' frames are missing from stacks: where an interpreter or
// a runtime was at work whose own frames nobody reads yet.
//
// It looks at the names of native frames and of the modules that they are in, and, where a program has made code that
// nobody names, at the names that its runtime gives to threads: programs that are built on Electron, and what Deno and
// Bun compile, have names of their own. A runtime that is read leaves the table below. It guarantees that a process
// without such frames gets no note: an idle event loop has no frame of its language on the stack.
package unshown

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// runtime is how one language's runtime is recognised, and who reads it.
type runtime struct {
	language string
	// functions begin the names of functions that are on the stack while code of the language runs.
	functions []string
	// modules begin the file names of the program or library. A frame without a name in one of them counts as
	// one of functions: the file may be stripped.
	modules []string
	// programs are whole file names of programs in which a frame without a name counts, as in modules.
	programs []string
	// threads are names of threads, at most 15 bytes, that the runtime starts. In a process with such a one code
	// without a name that was made counts.
	threads []string
	// names says that functions have names that other programs may have: they count in modules alone.
	names bool
	jit   bool         // frames of the language are machine code, and some are named from tables of it
	kind  profile.Kind // of frames that are named by other means: they are shown then
	why   string       // nobody reads it; "" for that it was not done yet
	shows string       // what shows the frames, with the process id for %d; "" if nothing simple does
}

// runtimes are those that nobody reads yet, and those of which some releases or builds are not read.
// Sources: the programs' own code (hotspot/share/runtime/javaCalls.cpp, v8/src/execution/execution.cc,
// Zend/zend_execute.c, vm_exec of Ruby's vm.c, run.c of Perl, lvm.c of Lua, callhelpers.cpp of CoreCLR, mini-runtime.c
// of Mono, tclBasic.c).
var runtimes = []runtime{
	{language: "Java", functions: []string{"JavaCalls::call"}, modules: []string{"libjvm.so", "libj9vm"},
		jit: true, kind: profile.Java, shows: "jstack %d",
		why: "this JVM is none that fpstack reads, has not begun, or its libjvm.so is not here"},
	{language: "JavaScript", functions: []string{"v8::internal::Execution::", "Builtins_JSEntry",
		"Builtins_InterpreterEntry"}, modules: []string{"libv8"},
		jit: true, kind: profile.JavaScript, why: "this V8 has no symbols that describe its objects (v8dbg_...)"},
	{language: "JavaScript", programs: []string{"electron"}, threads: []string{"Chrome_IOThread", "Chrome_ChildIOT"},
		jit: true, kind: profile.JavaScript, why: "Electron, as all that is built on Chromium, has V8 with " +
			"compressed pointers and without its debugging symbols"},
	{language: "JavaScript", programs: []string{"deno"}, threads: []string{"V8 DefaultWorke"},
		jit: true, kind: profile.JavaScript, why: "this V8 was built without its debugging symbols, as that of Deno; " +
			"deno with --v8-flags=--perf-basic-prof names them"},
	{language: "JavaScript", functions: []string{"JSC::"}, programs: []string{"bun"},
		threads: []string{"JITWorker", "HeapHelper", "ollector Thread"}, jit: true, kind: profile.JavaScript,
		why: "they run in JavaScriptCore, as in Bun, which fpstack does not read; bun started with " +
			"BUN_JSC_useJITDump=1 names compiled code"},
	{language: "Ruby", functions: []string{"rb_vm_exec", "rb_ec_exec_node", "ruby_run_node"},
		modules: []string{"ruby", "libruby"},
		shows:   "rbspy snapshot --pid %d"},
	{language: "PHP", functions: []string{"execute_ex", "zend_execute"}, modules: []string{"php", "libphp", "mod_php"},
		names: true,
		kind:  profile.PHP, shows: "phpspy -p %d"},
	{language: ".NET", functions: []string{"CallDescrWorker", "MethodDescCallSite::"},
		modules: []string{"libcoreclr.so"}, names: true, jit: true, kind: profile.DotNet,
		shows: "dotnet-stack report -p %d"},
	{language: ".NET", functions: []string{"mono_jit_exec", "mono_runtime_invoke", "mono_runtime_delegate_invoke"},
		modules: []string{"mono-", "libmono"}, jit: true, kind: profile.DotNet,
		why: "they run in Mono, which fpstack does not read"},
	{language: "Tcl", functions: []string{"TclNRRunCallbacks", "TclEvalObjvInternal"},
		modules: []string{"libtcl"}, names: true},
	{language: "Perl", functions: []string{"Perl_runops_", "perl_run"}, modules: []string{"perl", "libperl"}},
	{language: "Lua", functions: []string{"luaV_execute", "lj_vm_"}, modules: []string{"lua", "liblua"},
		threads: []string{"luajit"}, jit: true, kind: profile.Lua},
	{language: "Erlang", functions: []string{"process_main", "beam_jit_"}, modules: []string{"beam.smp"}, names: true,
		jit: true},
}

// set has a bit for each of runtimes.
type set uint32

// signs are runtimes at whose work a frame shows.
type signs struct {
	sure set
	// made is of code without a name that was made: of those whose threads the process has.
	made set
}

// byThreads are the runtimes with threads.
var byThreads = func() (all set) {
	for i := range runtimes {
		if len(runtimes[i].threads) > 0 {
			all |= 1 << i
		}
	}
	return all
}()

// of are the signs of f. module is the file name of f's module.
func of(f *profile.Frame, module string) signs {
	if _, made := f.JITMapping(); made {
		return signs{made: byThreads}
	}
	if f.Kind != profile.Native || f.Func == "" && f.Module < 0 {
		return signs{}
	}
	begins := func(s string) func(string) bool {
		return func(start string) bool { return strings.HasPrefix(s, start) }
	}
	i := slices.IndexFunc(runtimes, func(r runtime) bool {
		inside := slices.ContainsFunc(r.modules, begins(module)) || slices.Contains(r.programs, module)
		if f.Func == "" {
			return inside
		}
		return (inside || !r.names) && slices.ContainsFunc(r.functions, begins(f.Func))
	})
	if i < 0 {
		return signs{}
	}
	return signs{sure: 1 << i}
}

// ofThread are the runtimes that give a thread that name.
func ofThread(name string) (out set) {
	for i := range runtimes {
		if slices.Contains(runtimes[i].threads, name) {
			out |= 1 << i
		}
	}
	return out
}

func (s *signs) add(more signs) { s.sure, s.made = s.sure|more.sure, s.made|more.made }

// in is the first runtime of each language, in a process with threads of those runtimes.
func (s signs) in(threads set) (out set) {
	var languages []string
	for i := range runtimes {
		if (s.sure|s.made&threads)&(1<<i) != 0 && !slices.Contains(languages, runtimes[i].language) {
			languages, out = append(languages, runtimes[i].language), out|1<<i
		}
	}
	return out
}

// note is the sentence about runtime i in a process.
func note(i int, process string, pid, others int) string {
	r := &runtimes[i]
	who := process
	if pid != 0 {
		who = strings.TrimLeft(fmt.Sprintf("%s %d", process, pid), " ")
	}
	if others > 0 {
		who += fmt.Sprintf(" and %d more", others)
	}
	text := fmt.Sprintf("%s: %s frames are not shown: %s", who, r.language,
		cmp.Or(r.why, "fpstack does not read this runtime yet"))
	if r.shows != "" && pid != 0 {
		text += "; " + fmt.Sprintf(r.shows, pid) + " shows them"
	}
	return text
}

// InDump returns a sentence for each runtime at work in d, mostly none.
func InDump(d *profile.Dump) []string {
	var found signs
	var threads set
	named := kinds(0)
	type function struct {
		kind   profile.Kind
		name   string
		module int
	}
	met := map[function]bool{} // many threads are in few functions
	for i := range d.Threads {
		threads |= ofThread(d.Threads[i].Name)
		frames := d.Threads[i].Stack.Frames
		for k := range frames {
			f := &frames[k]
			is := function{f.Kind, f.Func, f.Module}
			if met[is] {
				continue
			}
			met[is] = true
			named.add(f)
			found.add(of(f, moduleName(d.Modules, f.Module)))
		}
	}
	var notes []string
	for i := range runtimes {
		if found.in(threads)&(1<<i) != 0 && !named.shows(&runtimes[i]) {
			notes = append(notes, note(i, d.Process.Comm, d.Process.PID, 0))
		}
	}
	return notes
}

// InProfile returns a sentence for each runtime at work in p: about the first process where one is, and how many more
// there are.
func InProfile(p *profile.Profile) []string {
	byFrame, some := make([]signs, len(p.Frames)), false
	named := kinds(0)
	for i := range p.Frames {
		named.add(&p.Frames[i])
		byFrame[i] = of(&p.Frames[i], moduleName(p.Modules, p.Frames[i].Module))
		some = some || byFrame[i] != signs{}
	}
	if !some {
		return nil
	}
	byNode := make([]signs, p.Tree.Len())
	for n := 1; n < len(byNode); n++ {
		id := profile.NodeID(n)
		byNode[n] = byNode[p.Tree.Parent(id)]
		byNode[n].add(byFrame[p.Tree.Frame(id)])
	}
	threads := map[int]set{}
	for _, t := range p.Tasks {
		threads[t.PID] |= ofThread(t.Thread)
	}
	var order []profile.Task // of each process the first that was met
	found := map[int]signs{}
	for _, s := range p.Samples {
		t := profile.Task{}
		if s.Task >= 0 {
			t = p.Tasks[s.Task]
		}
		was, met := found[t.PID]
		if !met {
			order = append(order, t)
		}
		was.add(byNode[s.Stack])
		found[t.PID] = was
	}
	var notes []string
	for i := range runtimes {
		if named.shows(&runtimes[i]) {
			continue
		}
		var in []profile.Task
		for _, t := range order {
			if found[t.PID].in(threads[t.PID])&(1<<i) != 0 {
				in = append(in, t)
			}
		}
		if len(in) > 0 {
			notes = append(notes, note(i, in[0].Process, in[0].PID, len(in)-1))
		}
	}
	return notes
}

// kinds is a set of kinds of made code that has names.
type kinds uint32

func (k *kinds) add(f *profile.Frame) {
	if f.Kind.Made() && f.Func != "" {
		*k |= 1 << f.Kind
	}
}

// shows reports whether frames of r's language are shown, as far as code has names: by their kind, or where that is not
// known any.
func (k kinds) shows(r *runtime) bool {
	return r.jit && k&(1<<profile.JIT) != 0 || r.kind != profile.Native && k&(1<<r.kind) != 0
}

func moduleName(modules []profile.Module, i int) string {
	if i < 0 || i >= len(modules) {
		return ""
	}
	return path.Base(modules[i].Path)
}

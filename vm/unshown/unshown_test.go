package unshown

import (
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// threadOf is the name that a stack gives to its thread, as "name@thread".
func threadOf(stack []string) string {
	for _, s := range stack {
		if name, ok := strings.CutSuffix(s, "@thread"); ok {
			return name
		}
	}
	return ""
}

// frames of a stack, innermost first: "function" of the program, "function@module", or "@module" without a name.
func frames(modules *[]profile.Module, list ...string) []profile.Frame {
	var out []profile.Frame
	for i, s := range list {
		name, module, _ := strings.Cut(s, "@")
		f := profile.Frame{Index: i, Addr: uint64(i + 1), Func: name, Module: -1}
		switch module {
		case "":
		case "thread":
			continue
		case "jit":
			f.Kind = profile.JIT
			if name == "" {
				f.Kind, f.Func = profile.Unknown, profile.JITName("", 0x1000)
			}
		default:
			f.Module = len(*modules)
			*modules = append(*modules, profile.Module{Path: "/usr/bin/" + module})
		}
		out = append(out, f)
	}
	return out
}

func TestNotes(t *testing.T) {
	for _, tc := range []struct {
		name  string
		stack []string
		want  string // of the note, "" for none
	}{
		{"Ruby waits in a call", []string{"clock_nanosleep@libc.so.6", "rb_thread_wait_for",
			"rb_vm_exec@libruby.so.3.1", "main"},
			"prog 4121: Ruby frames are not shown: fpstack does not read this runtime yet; rbspy snapshot " +
				"--pid 4121 shows them"},
		{"Ruby, stripped", []string{"read@libc.so.6", "@ruby3.1", "__libc_start_main@libc.so.6"}, "Ruby"},
		{"Java", []string{"@", "JavaCalls::call_helper@libjvm.so"}, "jstack 4121 shows them"},
		{"OpenJ9, stripped", []string{"@", "@libj9vm29.so"}, "jstack 4121 shows them"},
		{"garbage collector of Java", []string{"os::PlatformMonitor::wait@libjvm.so",
			"ConcurrentGCThread::run@libjvm.so"},
			""},
		{"Java with names", []string{"Server.handle@jit", "JavaCalls::call_helper@libjvm.so"}, ""},
		{"V8", []string{"Builtins_JSEntryTrampoline@node", "v8::internal::Execution::Call@node"}, "JavaScript frames"},
		{"node's idle loop", []string{"epoll_pwait@libc.so.6", "uv_run@node", "node::Start@node"}, ""},
		{"PHP", []string{"execute_ex@php8.2", "zend_execute_scripts@php8.2"}, "phpspy -p 4121"},
		{"a name that PHP has too", []string{"execute_ex@server"}, ""},
		{"Perl", []string{"Perl_pp_sleep@perl", "Perl_runops_standard@perl"}, "Perl"},
		{"Ruby", []string{"rb_vm_exec@libruby-3.1.so.3.1"}, "rbspy"},
		{"Lua", []string{"luaV_execute@redis-server"}, "Lua"},
		{"a trace of LuaJIT, which has no caller", []string{"@jit", "luajit@thread"}, "Lua"},
		{"LuaJIT with names", []string{"hot@jit", "lj_vm_call@luajit", "luajit@thread"}, ""},
		{"Mono", []string{"@jit", "@mono-sgen", "mono_jit_exec@mono-sgen"}, "they run in Mono"},
		{"Tcl", []string{"Tcl_NewDoubleObj@libtcl8.6.so", "@libtcl8.6.so", "TclNRRunCallbacks@libtcl8.6.so"}, "Tcl"},
		{"a program that has names of Tcl", []string{"TclNRRunCallbacks@server"}, ""},
		{".NET", []string{"CallDescrWorkerInternal@libcoreclr.so"}, "dotnet-stack report -p 4121"},
		{"Erlang", []string{"process_main@beam.smp"}, "Erlang"},
		{"Electron, stripped", []string{"read@libc.so.6", "@electron"}, "has V8 with compressed pointers"},
		{"Deno, stripped", []string{"@deno", "__libc_start_main@libc.so.6"}, "as that of Deno"},
		{"Bun, stripped", []string{"@bun"}, "JavaScriptCore"},
		{"another program with such a name", []string{"@denoise"}, ""},
		{"built on Electron, of another name", []string{"@jit", "@code", "Chrome_IOThread@thread"}, "Electron"},
		{"a page in Chromium", []string{"@jit", "@chromium", "Chrome_ChildIOT@thread"}, "Chromium"},
		{"what Deno compiled", []string{"@jit", "@server", "V8 DefaultWorke@thread"}, "as that of Deno"},
		{"what Bun compiled", []string{"@jit", "@server", "JITWorker@thread"}, "as in Bun"},
		{"the same without code that was made", []string{"read@libc.so.6", "@server", "JITWorker@thread"}, ""},
		{"code that was made, of nobody", []string{"@jit", "@server"}, ""},
		{"V8 with symbols for functions alone, and its threads", []string{"@jit", "Builtins_JSEntry@lib.so",
			"V8 DefaultWorke@thread"}, "no symbols that describe its objects"},
		{"a C program", []string{"main@server", "_start@server"}, ""},
		{"nothing", nil, ""},
	} {
		d := &profile.Dump{Process: profile.Process{PID: 4121, Comm: "prog"}}
		for range 2 { // two threads alike are reported once
			d.Threads = append(d.Threads, profile.Thread{TID: 4121, Name: threadOf(tc.stack),
				Stack: profile.Stack{Frames: frames(&d.Modules, tc.stack...)}})
		}
		got := InDump(d)
		if tc.want == "" && len(got) != 0 || tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)) {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
		if inProfile := InProfile(profile.FromDumps(d)); !slices.Equal(inProfile, got) {
			t.Errorf("%s: of a profile %q, of the dump %q", tc.name, inProfile, got)
		}
	}
}

func TestNotesOfSeveralProcesses(t *testing.T) {
	var dumps []*profile.Dump
	for pid := 10; pid < 13; pid++ {
		d := &profile.Dump{Process: profile.Process{PID: pid, Comm: "worker"}}
		d.Threads = []profile.Thread{{TID: pid,
			Stack: profile.Stack{Frames: frames(&d.Modules, "rb_vm_exec")}}}
		dumps = append(dumps, d)
	}
	got := InProfile(profile.FromDumps(dumps...))
	want := []string{"worker 10 and 2 more: Ruby frames are not shown: fpstack does not read this runtime yet; " +
		"rbspy snapshot --pid 10 shows them"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

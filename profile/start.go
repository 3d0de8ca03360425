package profile

import (
	"path"
	"slices"
	"strings"
)

// starts are functions by which a libc or the runtime of a language begins a thread or a program. A name that ends in
// "*" is how several begin.
// Source: glibc csu/libc-start.c, nptl/pthread_create.c; musl src/env, src/thread; library/std of Rust: src/rt.rs,
// src/sys/thread; libstdc++ src/c++11/thread.cc; Go runtime/proc.go.
var starts = []string{
	"_start", "_start_c", "__libc_start_main*", "__libc_start_call_main", "libc_start_main_stage2",
	"clone", "clone3", "__clone", "__clone3", "__clone_internal*", "start_thread", "start", "thread_start",
	"std::rt::*", "std::sys::backtrace::*", "std::sys_common::backtrace::*", "std::panicking::*",
	"std::panic::catch_unwind*", "__rust_try*", "std::thread::Builder::spawn_unchecked*",
	"std::thread::lifecycle::spawn_unchecked*", "std::thread::spawn_unchecked*", "core::ops::function::*",
	"core::panic::unwind_safe::*", "<alloc::boxed::Box<*", "<&dyn core::ops::function::*",
	"<core::panic::unwind_safe::*", "std::sys::pal::unix::thread::*", "std::sys::thread::unix::*",
	"<std::sys::thread::unix::Thread>::*", "std::sys::unix::thread::*",
	"execute_native_thread_routine", "std::thread::_State_impl*", "std::thread::_Invoker*", "std::__invoke*",
	"runtime.goexit", "runtime.goexit.abi0", "runtime.main", "runtime.mstart*", "runtime.rt0_go*",
	"runtime.asmcgocall*",
	"runtime.cgocall*", "crosscall1", "_rt0_*",
}

// languageStarts are functions of a language by which its runtime begins a thread: of Python those of threading.py.
var languageStarts = map[Kind][]string{
	Python: {"Thread._bootstrap", "Thread._bootstrap_inner", "Thread.run", "_bootstrap", "_bootstrap_inner", "run"},
	Java:   {"java.lang.Thread.run", "java.lang.Thread.runWith"},
	DotNet: {"System.Threading.Thread.StartCallback", "System.Threading.Thread+StartHelper.*"},
}

// hosts are the files, as glob patterns, of the runtimes of languages that run functions of a [Kind]: what is outside
// of the outermost such function and in one of them is how the runtime came to run it.
var hosts = map[Kind][]string{
	Python:     {"python*", "libpython*"},
	Java:       {"java", "libjvm.so", "libjli.so"},
	JavaScript: {"node", "nodejs", "libnode*"},
	DotNet:     {"dotnet", "libcoreclr.so", "libhostfxr.so", "libhostpolicy.so", "apphost"},
}

// threadLibraries are files whose nameless functions begin threads.
var threadLibraries = []string{"libstdc++.so*", "libc.so*", "libc-*", "ld-musl-*"}

// StartFrames is how many of the outermost frames of s, all of them made of modules, only say how the thread or the
// program began: functions of a libc and of runtimes. It is 0 where the outermost frame was not reached, and none of
// them carries a doubt; at least one frame of a stack is none.
func StartFrames(s *Stack, modules []Module) int {
	if !s.Complete {
		return 0
	}
	host := hostOf(s.Frames)
	n := 0
	for ; n < len(s.Frames)-1; n++ {
		f := &s.Frames[len(s.Frames)-1-n]
		inner := &s.Frames[len(s.Frames)-2-n]
		if f.Gap || f.Unsure || f.Note != "" ||
			!startsThread(f) && !isIn(f, modules, host) &&
				!(f.Func == "" && isIn(f, modules, threadLibraries)) && !beginsProgram(f, inner) {
			break
		}
	}
	return n
}

// hostOf is the patterns of the runtime whose functions are the outermost ones of a language.
func hostOf(frames []Frame) []string {
	for i := len(frames) - 1; i >= 0; i-- {
		if frames[i].Kind.Made() && !frames[i].Stub {
			return hosts[frames[i].Kind]
		}
	}
	return nil
}

// beginsProgram reports whether f is how a program begins by what it called: the main that the compiler of Rust makes,
// and _start without a name.
func beginsProgram(f, inner *Frame) bool {
	if f.Func == "main" && f.File == "" {
		return strings.HasPrefix(inner.Func, "std::rt::")
	}
	return f.Func == "" && strings.HasPrefix(inner.Func, "__libc_start_main")
}

func startsThread(f *Frame) bool {
	table := starts
	if f.Kind.Made() {
		table = languageStarts[f.Kind]
	}
	if f.Func == "" || f.Kind == Python && path.Base(f.File) != "threading.py" {
		return false
	}
	return slices.ContainsFunc(table, func(s string) bool {
		begin, many := strings.CutSuffix(s, "*")
		return f.Func == s || many && strings.HasPrefix(f.Func, begin)
	})
}

// isIn reports whether f is native code of a file that one of patterns means.
func isIn(f *Frame, modules []Module, patterns []string) bool {
	if f.Kind.Made() && !f.Stub || f.Module < 0 || f.Module >= len(modules) {
		return false
	}
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, modules[f.Module].Name())
		return ok
	})
}

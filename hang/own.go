package hang

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// foreignFiles are parts of paths of source files that are no user's own: libraries of languages, test runners.
var foreignFiles = []string{"/usr/include/", "/usr/src/", "/usr/lib/", "/usr/local/go/src/", "/go/src/runtime/",
	"/pkg/mod/", "/site-packages/", "/dist-packages/", "/lib/python", "/node_modules/", "node:", "internal/",
	"/rustc/", "/registry/src/", "/python-build", "<frozen ", "/glibc", "/sysdeps/", "/nptl/", "/gcc-", "/gtest",
	"/bin/",
	"/deps/uv/", "/deps/v8/", "/_pytest/", "_testmain.go", "java.base/", "/_/src/", "./nptl", "../sysdeps"}

// foreignFunctions are how names of functions begin that are no user's own.
var foreignFunctions = []string{"runtime.", "testing.", "internal/", "sync.", "syscall.", "os.", "net.", "net/http.",
	"io.", "time.", "std::", "core::", "alloc::", "test::", "__libc_", "_start", "start_thread", "clone", "java.",
	"jdk.", "sun.", "org.junit.", "junit.", "org.testng.", "org.apache.maven.",
	"org.codehaus.plexus.", "org.gradle.", "com.zaxxer.hikari.", "org.apache.commons.", "org.apache.tomcat.",
	"org.springframework.", "com.sun.", "System.", "Microsoft.", "Interop.", "Xunit.", "NUnit.", "unittest.",
	"_pytest.", "Perl_", "testing::", "void std::", "uv_", "node::", "v8::"}

// ownFrame is the first frame of s that is the user's own: not of libc, of a runtime or of a test runner. nil if there
// is none that has a name.
func ownFrame(d *profile.Dump, s *profile.Stack) *profile.Frame {
	// Where a language runs, what is below its functions is its runtime.
	made := made(s)
	for i := range s.Frames {
		if f := &s.Frames[i]; f.Kind.Made() == made && isOwn(d, f) {
			return f
		}
	}
	return nil
}

// entryFrame is where s is in the package that the program is, as a tool that pip or npm installed: for when nothing on
// it is the user's own. nil if the program is another, or s is elsewhere.
func entryFrame(d *profile.Dump, s *profile.Stack) *profile.Frame {
	if d == nil {
		return nil
	}
	i := slices.IndexFunc(d.Threads, func(t profile.Thread) bool { return t.TID == d.Process.PID })
	if i < 0 || ownFrame(d, &d.Threads[i].Stack) != nil {
		return nil
	}
	entry, frames := "", d.Threads[i].Stack.Frames
	for k := len(frames) - 1; k >= 0 && entry == ""; k-- {
		entry = packageOf(frames[k].File)
	}
	for k := range s.Frames {
		if f := &s.Frames[k]; entry != "" && packageOf(f.File) == entry &&
			!strings.HasPrefix(f.Func, "<") {
			return f
		}
	}
	return nil
}

// packageOf is the folder of the package that a source file is of: "…/site-packages/celery/"; "" if it is of none.
func packageOf(file string) string {
	for _, of := range []string{"/site-packages/", "/dist-packages/", "/node_modules/"} {
		ends := strings.LastIndex(file, of) + len(of)
		if ends < len(of) {
			continue
		}
		if strings.HasPrefix(file[ends:], "@") {
			ends += strings.IndexByte(file[ends:], '/') + 1
		}
		if n := strings.IndexByte(file[ends:], '/'); n > 0 {
			return file[:ends+n+1]
		}
	}
	return ""
}

// made reports whether functions of a language that runs on a runtime are on s.
func made(s *profile.Stack) bool {
	return slices.ContainsFunc(s.Frames, func(f profile.Frame) bool { return f.Kind.Made() })
}

// libraryCall is the function of the language's library that the user's own code called, and waits in: "Queue.get".
// "" where it waits by itself, or where nothing is its own.
func libraryCall(d *profile.Dump, s *profile.Stack) string {
	last := ""
	for i := range s.Frames {
		f := &s.Frames[i]
		switch {
		case !f.Kind.Made() || f.Stub:
		case f.Kind == profile.JavaScript && f.File == "": // built in: its name is without what it belongs to
		case isOwn(d, f):
			return last
		default:
			last = text.Escape(f.Func)
		}
	}
	return ""
}

func isOwn(d *profile.Dump, f *profile.Frame) bool {
	if f.Func == "" || f.Stub || f.Kind == profile.Kernel || f.Kind == profile.Signal || f.Kind == profile.VDSO {
		return false
	}
	// Libraries of the system name their files from where they were built.
	if f.File == "" || strings.HasPrefix(f.File, "./") || strings.HasPrefix(f.File, "../") {
		if file, ok := modulePath(d, f); ok && file != d.Process.Exe && isSystem(file) {
			return false
		}
	}
	// Of JavaScript what has no file is built in, as Atomics.wait; of Python its code could not be read.
	if f.File == "" && (isReserved(f.Func) || f.Kind == profile.JavaScript || f.Kind == profile.Python) {
		return false
	}
	for _, part := range foreignFiles {
		if strings.Contains(f.File, part) || strings.HasPrefix(f.File, strings.TrimPrefix(part, "/")) {
			return false
		}
	}
	for _, start := range foreignFunctions {
		if strings.HasPrefix(f.Func, start) {
			return false
		}
	}
	return true
}

// modulePath is the file of the module that a frame lies in.
func modulePath(d *profile.Dump, f *profile.Frame) (string, bool) {
	if d == nil || f.Module < 0 || f.Module >= len(d.Modules) {
		return "", false
	}
	return d.Modules[f.Module].Path, true
}

// isReserved reports whether the name of a function of C is libc's or the compiler's, as it is in a static program.
// Source: C23, 7.1.3.
func isReserved(name string) bool {
	for _, start := range []string{"__", "_IO_", "_dl_", "pthread_", "sem_", "thrd_", "mtx_", "cnd_"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

// isSystem reports whether a module is one of the system.
func isSystem(file string) bool {
	for _, dir := range []string{"/lib", "/usr/lib", "/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/", "[vdso]"} {
		if strings.HasPrefix(file, dir) {
			return true
		}
	}
	return false
}

// place says where a frame is: `drain (queue_test.go:4)`.
func place(f *profile.Frame) string {
	words := text.Escape(shortName(f.Func))
	switch {
	case f.File != "" && f.Line > 0:
		words += fmt.Sprintf(" (%s:%d)", text.Escape(path.Base(f.File)), f.Line)
	case f.File != "":
		words += " (" + text.Escape(path.Base(f.File)) + ")"
	}
	return words
}

// shortName is the name of a function without the path of its package, as Go has it: "queue.drain".
func shortName(name string) string {
	head := name
	if i := strings.IndexAny(name, "([ <:"); i >= 0 {
		head = name[:i]
	}
	short := name[strings.LastIndexByte(head, '/')+1:]
	if c := strings.ToLower(short); c == "" || c[0] < 'a' || c[0] > 'z' || !strings.Contains(short, ".") {
		return name
	}
	return short
}

package profile

import "testing"

// TestStartFrames: what only says how a thread began is told from the program's own functions, and never where a doubt
// or the end of the stack is.
func TestStartFrames(t *testing.T) {
	modules := []Module{{Path: "/usr/bin/python3.11"}, {Path: "/srv/app"}, {Path: "/lib/libc.so.6"},
		{Path: "/usr/lib/libstdc++.so.6.0.30"}, {Path: "/usr/lib/jvm/lib/server/libjvm.so"}}
	const python, app, libc, cxx, jvm = 0, 1, 2, 3, 4
	in := func(module int, names ...string) (frames []Frame) {
		for _, name := range names {
			frames = append(frames, Frame{Func: name, Module: module})
		}
		return frames
	}
	script := func(kind Kind, file string, names ...string) (frames []Frame) {
		for _, name := range names {
			frames = append(frames, Frame{Func: name, Kind: kind, File: file, Module: -1})
		}
		return frames
	}
	join := func(lists ...[]Frame) (all []Frame) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	doubted := in(libc, "main", "__libc_start_main", "_start")
	doubted[1].Note = "found by what looks like a frame pointer"
	for _, c := range []struct {
		name   string
		frames []Frame
		want   int
	}{
		{"main of C", join(in(app, "work", "main"), in(libc, "__libc_start_call_main", "__libc_start_main_impl"),
			in(app, "_start")), 3},
		{"_start without a name", join(in(app, "main"), in(libc, "__libc_start_main"), in(app, "")), 2},
		{"a thread", join(in(app, "work"), in(libc, "start_thread", "clone3")), 2},
		{"a thread of C++", join(in(app, "work"), in(cxx, ""), in(libc, "start_thread", "clone3")), 3},
		{"Rust", join(in(app, "app::main", "std::rt::lang_start::{{closure}}", "main"),
			in(libc, "__libc_start_main")), 3},
		{"main of C has a place", join(in(app, "work", "main"), in(libc, "__libc_start_main")), 1},
		{"Go", in(app, "main.main", "runtime.main", "runtime.goexit"), 2},
		{"Python", join(script(Python, "/srv/a.py", "work"),
			in(python, "PyEval_EvalCode", "Py_RunMain", "main"), in(libc, "__libc_start_main")), 4},
		{"a thread of Python", join(script(Python, "/srv/a.py", "work"),
			script(Python, "/usr/lib/python3.11/threading.py", "Thread.run", "Thread._bootstrap"),
			in(python, "thread_run"), in(libc, "start_thread", "clone3")), 5},
		{"run of the program", join(script(Python, "/srv/a.py", "work", "run"), in(libc, "clone3")), 1},
		{"a program that embeds Python", join(script(Python, "/srv/a.py", "work"), in(python, "PyRun_SimpleFile"),
			in(app, "run_plugin", "main"), in(libc, "__libc_start_main")), 1},
		{"Java", join(script(Java, "Main.java", "Main.x", "java.lang.Thread.run"), in(jvm, "JavaCalls::call_helper",
			"thread_native_entry"), in(libc, "start_thread")), 4},
		{"code of a JVM alone", join(in(jvm, "GangWorker::loop"), in(libc, "start_thread")), 1},
		{"nothing else", in(libc, "start_thread", "clone3"), 1},
		{"no frames", nil, 0},
		{"a doubt", doubted, 1},
	} {
		if got := StartFrames(&Stack{Frames: c.frames, Complete: true}, modules); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
		if got := StartFrames(&Stack{Frames: c.frames}, modules); got != 0 {
			t.Errorf("%s: %d of a stack that ends early, want 0", c.name, got)
		}
	}
}

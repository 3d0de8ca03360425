package hang

import (
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// TestEntry: of a program that is a package itself the innermost of its functions is named, and of no other.
func TestEntry(t *testing.T) {
	stack := func(files ...string) profile.Stack {
		s := profile.Stack{Complete: true}
		for _, file := range files {
			s.Frames = append(s.Frames, profile.Frame{Func: "f", File: file, Kind: profile.Python})
		}
		return s
	}
	const tool, scoped = "/srv/site-packages/tool/", "/srv/node_modules/@a/b/"
	for _, row := range []struct {
		name    string
		main, s profile.Stack
		want    string
	}{
		{"of pip", stack("/usr/lib/python3/queue.py", tool+"serve.py", tool+"__main__.py", "<frozen runpy>"),
			stack("/usr/lib/python3/queue.py", tool+"serve.py"), tool + "serve.py"},
		{"that is started by a script", stack(tool+"serve.py", tool+"main.py", "/usr/bin/tool"),
			stack("/srv/site-packages/loop/l.py", tool+"serve.py"), tool + "serve.py"},
		{"of npm", stack("node:fs", scoped+"x.js", scoped+"cli.js", "node:internal/main"),
			stack(scoped+"node_modules/c/x.js", scoped+"y.js"), scoped + "y.js"},
		{"another package", stack(tool + "main.py"), stack("/srv/site-packages/loop/l.py"), ""},
		{"a program of one's own", stack(tool+"main.py", "/srv/app.py"), stack(tool + "serve.py"), ""},
		{"a module without a folder", stack("/srv/site-packages/six.py"), stack("/srv/site-packages/six.py"), ""},
	} {
		d := &profile.Dump{Process: profile.Process{PID: 7}, Threads: []profile.Thread{{TID: 7, Stack: row.main}}}
		got := ""
		if f := entryFrame(d, &row.s); f != nil {
			got = f.File
		}
		if got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
	if entryFrame(nil, &profile.Stack{}) != nil {
		t.Error("there is a function where nothing was sampled")
	}
}

package procfs

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Role says what a process of Python is for in a tree of processes, by its arguments and those of its parent, as
// "gunicorn worker of 4121"; "" where they do not tell. forked says that it has executed no program of its own. The
// arguments belong to the processes: they may say anything.
//
// Sources: multiprocessing/spawn.py, forkserver.py and resource_tracker.py of CPython 3.8 to 3.15;
// execnet/gateway_base.py and gateway_io.py of execnet 2.
func Role(args, parent []string, parentPID int, forked bool) string {
	if len(args) == 0 || !strings.HasPrefix(path.Base(args[0]), "python") {
		return ""
	}
	of := func(what string) string { return fmt.Sprintf("%s of %d", what, parentPID) }
	if code, ok := inlineCode(args); ok {
		above, _ := inlineCode(parent)
		switch {
		case strings.HasPrefix(code, "from multiprocessing.spawn import spawn_main"):
			return of("multiprocessing worker (spawn)")
		case strings.HasPrefix(code, "from multiprocessing.resource_tracker import main"):
			return of("multiprocessing resource tracker")
		case strings.HasPrefix(code, "from multiprocessing.forkserver import main") && code == above:
			return of("multiprocessing worker (forkserver)")
		case strings.HasPrefix(code, "from multiprocessing.forkserver import main"):
			return of("multiprocessing fork server")
		case code == "import sys;exec(eval(sys.stdin.readline()))" && slices.ContainsFunc(parent, isPytest):
			return of("pytest-xdist worker")
		case code == "import sys;exec(eval(sys.stdin.readline()))":
			return of("execnet worker")
		}
	}
	same := slices.Equal(args, parent)
	program := programOf(args)
	for _, k := range roles {
		if k.program != program || k.word != "" && !slices.Contains(args, k.word) {
			continue
		}
		if same {
			return of(k.child)
		}
		return k.first
	}
	if same && forked {
		return fmt.Sprintf("forked from %d", parentPID)
	}
	return ""
}

// roles are programs that start processes with their own arguments: what the first and what those are called.
var roles = []struct{ program, word, first, child string }{
	{"gunicorn", "", "gunicorn master", "gunicorn worker"},
	{"celery", "worker", "celery worker", "celery pool worker"},
	{"rq", "worker", "rq worker", "rq work horse"},
	{"manage.py", "runserver", "Django's reloader", "Django's server"},
	{"ipykernel_launcher", "", "Jupyter kernel", "fork of the Jupyter kernel"},
}

// inlineCode is the argument of -c.
func inlineCode(args []string) (string, bool) {
	for i := 1; i+1 < len(args) && strings.HasPrefix(args[i], "-"); i++ {
		if args[i] == "-c" {
			return args[i+1], true
		}
	}
	return "", false
}

// programOf is the script or module that an interpreter runs, without folder.
func programOf(args []string) string {
	for i := 1; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-m" && i+1 < len(args):
			return strings.TrimSuffix(args[i+1], ".__main__")
		case a == "-X" || a == "-W":
			i++
		case !strings.HasPrefix(a, "-"):
			return path.Base(a)
		}
	}
	return ""
}

func isPytest(arg string) bool {
	return arg == "pytest" || path.Base(arg) == "pytest" || path.Base(arg) == "py.test"
}

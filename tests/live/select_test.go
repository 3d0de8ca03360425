//go:build linux

package live

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shownIn lists the processes of a dump's text, in their order.
func shownIn(text string) []int {
	var pids []int
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "process" {
			pid, _ := strconv.Atoi(f[1])
			pids = append(pids, pid)
		}
	}
	return pids
}

// named starts a copy of a target that is called name.
func named(t *testing.T, name string) *target {
	t.Helper()
	path := filepath.Join(room(t), name)
	copyFile(t, program(t, "threads"), path)
	p := launch(t, exec.Command(path, "1", "3")).ready(t)
	asleep(t, p.pid)
	return p
}

// unique is a name that no other process has.
func unique(what string) string { return fmt.Sprintf("n%d-%s", os.Getpid(), what) }

// TestNames: a process is meant by each of its three names, in full.
func TestNames(t *testing.T) {
	long := unique("a-name-of-more-than-15-bytes")
	short := unique("x")
	one, two, other := named(t, long), named(t, short), named(t, short)
	cmd := exec.Command(program(t, "threads"), "1", "3")
	cmd.Args[0] = "/nowhere/" + unique("argument")
	titled := launch(t, cmd).ready(t)
	asleep(t, titled.pid)
	several := []int{two.pid, other.pid}
	slices.Sort(several)
	for _, tt := range []struct {
		name    string
		args    []string
		want    []int
		status  int
		message string
	}{
		{"executable", []string{"-n", long}, []int{one.pid}, 0, ""},
		{"comm, cut by the kernel", []string{"-n", long[:15]}, []int{one.pid}, 0, ""},
		{"comm, cut by a person", []string{"-n", long[:14]}, nil, 2, "no process is named"},
		{"first argument", []string{"-n", unique("argument")}, []int{titled.pid}, 0, ""},
		{"two of a name", []string{"--name", short}, several, 0, ""},
		{"two names", []string{"-n", long, "-n", short}, append([]int{one.pid}, several...), 0, ""},
		{"one that has an id too", []string{"-p", strconv.Itoa(other.pid), "-n", short},
			[]int{other.pid, two.pid}, 0, ""},
		{"nobody", []string{"-n", unique("nobody")}, nil, 2, "no process is named"},
		{"nobody and somebody", []string{"-n", unique("nobody"), "-n", long}, []int{one.pid}, 1, "no process is named"},
		{"in capitals", []string{"-n", strings.ToUpper(short)}, nil, 2, "no process is named"},
		{"a path", []string{"-n", "/" + short}, nil, 2, "no process is named"},
		{"a thread of the kernel", []string{"-n", "kthreadd"}, nil, 2, "no process is named"},
		{"ourselves alone", []string{"-n", "fpstack"}, nil, -1, "no process is named"},
		{"no name", []string{"-n", ""}, nil, 64, "--name: no name given"},
		{"escape in a name", []string{"-n", "\x1b[31m"}, nil, 2, `\x1b[31m`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := show(t, tt.args...)
			if tt.status < 0 { // another test's fpstack may run at this moment
				if slices.Contains(shownIn(o.stdout), 0) {
					t.Errorf("shown %q", o.stdout)
				}
				return
			}
			if got := shownIn(o.stdout); !slices.Equal(got, tt.want) || o.status != tt.status ||
				!strings.Contains(o.stderr, tt.message) || (tt.message == "") != (o.stderr == "") {
				t.Errorf("shown %v, status %d, %q; want %v, %d, %q", got, o.status, o.stderr, tt.want,
					tt.status, tt.message)
			}
			checkClean(t, o.stderr)
		})
	}
}

// TestNamesElsewhere: the other commands take names too.
func TestNamesElsewhere(t *testing.T) {
	t.Parallel()
	name := unique("y")
	p := named(t, name)
	nobody := unique("nobody")
	for _, tt := range []struct {
		args []string
		want string // in what it writes
	}{
		{[]string{"record", "-d", "300ms", "-f", "json", "-o", "-", "-q"}, `"schema":"fpstack.profile/1"`},
		{[]string{"top", "--once", "1", "--idle"}, "pause"},
		{[]string{"check"}, name},
		{[]string{"doctor"}, fmt.Sprintf("process %d %q", p.pid, name[:min(15, len(name))])},
	} {
		o := show(t, append(tt.args, "-n", name)...)
		if o.status != 0 || !strings.Contains(strings.ReplaceAll(o.stdout, " ", ""),
			strings.ReplaceAll(tt.want, " ", "")) {
			t.Errorf("%q: status %d, want 0 and %q\n%.500s%s", tt.args, o.status, tt.want, o.stdout, o.stderr)
		}
		if o := show(t, append(tt.args, "-n", nobody)...); o.status != 2 || o.stdout != "" ||
			!strings.Contains(o.stderr, "no process is named") {
			t.Errorf("%q of nobody: status %d, %q, %q; want 2, nothing and the reason", tt.args, o.status,
				o.stdout, o.stderr)
		}
		if o := show(t, append(tt.args, "-n", name, "-n", nobody)...); o.status != 1 ||
			!strings.Contains(o.stderr, nobody) {
			t.Errorf("%q of one and nobody: status %d, %q; want 1", tt.args, o.status, o.stderr)
		}
	}
}

// startTree gives a tree of shells: the root, two children that sleep, one of them with a child,
// and one that has ended and is not reaped: it waits for the shell to become sleep, as a shell reaps.
func startTree(t *testing.T) (root int, below map[string]int) {
	t.Helper()
	p := launch(t, exec.Command("bash", "-c", `
sh -c 'until [ "$(cat /proc/$PPID/comm)" = sleep ]; do :; done' & echo zombie $!
sleep 601 & echo leaf $!
bash -c 'sleep 602 & echo deep $!; exec sleep 603' & echo middle $!
exec sleep 604`))
	below = map[string]int{}
	for range 4 {
		f := strings.Fields(p.line(t))
		below[f[0]], _ = strconv.Atoi(f[1])
	}
	await(t, "the tree sleeps", func() bool {
		for name, pid := range below {
			want := byte('S')
			if name == "zombie" {
				want = 'Z'
			}
			comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			if stateOf(pid) != want || want == 'S' && string(comm) != "sleep\n" {
				return false
			}
		}
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.pid))
		return string(comm) == "sleep\n" && stateOf(p.pid) == 'S'
	})
	return p.pid, below
}

// TestTree: the whole tree, parents first, each process once; what has ended is no fault.
func TestTree(t *testing.T) {
	root, below := startTree(t)
	whole := []int{root, below["leaf"], below["middle"], below["deep"]}
	pid := strconv.Itoa(root)
	gone := "1 process ended before being sampled"
	for _, tt := range []struct {
		name    string
		args    []string
		want    []int
		status  int
		message string
	}{
		{"without --children", []string{"-p", pid}, []int{root}, 0, ""},
		{"the tree", []string{"-p", pid, "--children"}, whole, 0, gone},
		{"a part of it is named too", []string{"-p", fmt.Sprint(root, ",", below["middle"]), "--children"},
			whole, 0, gone},
		{"a part first", []string{"-p", fmt.Sprintf("%d,%d", below["middle"], root), "--children"},
			[]int{below["middle"], below["deep"], root, below["leaf"]}, 0, gone},
		{"the zombie is named", []string{"-p", fmt.Sprintf("%d,%d", below["zombie"], root), "--children"}, whole, 1,
			"has ended and was not reaped"},
		{"a process alone", []string{"-p", strconv.Itoa(below["leaf"]), "--children"}, []int{below["leaf"]}, 0, ""},
		{"one that is not there", []string{"-p", unusedPID(t) + "," + pid, "--children"}, whole, 1, "no such process"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := show(t, tt.args...)
			if got := shownIn(o.stdout); !slices.Equal(got, tt.want) || o.status != tt.status ||
				!strings.Contains(o.stderr, tt.message) || (tt.message == "") != (o.stderr == "") {
				t.Errorf("shown %v, status %d, %q; want %v, %d, %q", got, o.status, o.stderr, tt.want,
					tt.status, tt.message)
			}
		})
	}
}

// TestTreeOfOurParent: fpstack is a child of the shell that runs it, and leaves itself out.
func TestTreeOfOurParent(t *testing.T) {
	const script = `sleep 600 & until [ "$(cut -d' ' -f2,3 /proc/$!/stat)" = "(sleep) S" ]; do :; done
		"$0" -p $$ --children; status=$?; kill $!; exit $status`
	o := execute(t, bound, "sh", "-c", script, fpstack)
	checkEnd(t, o, nil)
	if got := shownIn(o.stdout); len(got) != 2 || o.status != 0 || o.stderr != "" {
		t.Errorf("shown %v, status %d, %q; want the shell and sleep", got, o.status, o.stderr)
	}
}

// TestTreeBelowAnotherUser: who may not trace a process may trace its children.
func TestTreeBelowAnotherUser(t *testing.T) {
	asRoot(t)
	script := `setpriv --reuid 65534 --regid 65534 --clear-groups sleep 605 & echo $!; exec sleep 606`
	p := launch(t, exec.Command(installed(t, "bash"), "-c", script))
	child, _ := strconv.Atoi(p.line(t))
	await(t, "the child is nobody's sleep", func() bool {
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", child))
		return string(comm) == "sleep\n"
	})
	line := append(append([]string{}, nobody[1:]...), fpstack, "-p", strconv.Itoa(p.pid), "--children")
	o := execute(t, bound, installed(t, nobody[0]), line...)
	checkEnd(t, o, line)
	if got := shownIn(o.stdout); !slices.Equal(got, []int{child}) || o.status != 1 ||
		!strings.Contains(o.stderr, "permission denied") {
		t.Errorf("shown %v, status %d, %q; want %d, 1 and a refusal", got, o.status, o.stderr, child)
	}
}

// TestAllTogether: ids, names and trees in one run, in every form.
func TestAllTogether(t *testing.T) {
	root, below := startTree(t)
	name := unique("z")
	p, lone := named(t, name), sleeper(t)
	args := []string{"-p", fmt.Sprintf("%d,%s", root, lone), "--children", "-n", name}
	n, _ := strconv.Atoi(lone)
	want := []int{root, below["leaf"], below["middle"], below["deep"], n, p.pid}
	if o := show(t, args...); o.status != 0 || !slices.Equal(shownIn(o.stdout), want) {
		t.Errorf("text: status %d, %v, want %v\n%s", o.status, shownIn(o.stdout), want, o.stderr)
	}
	var pids []int
	for dec := json.NewDecoder(strings.NewReader(show(t, append(args, "-f", "json")...).stdout)); dec.More(); {
		var d dump
		if err := dec.Decode(&d); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, d.Process.PID)
	}
	if !slices.Equal(pids, want) {
		t.Errorf("JSON: %v, want %v", pids, want)
	}
	threads := 0
	for _, pid := range want {
		threads += len(threadsOf(pid))
	}
	if got := strings.Count(show(t, append(args, "-f", "gdb")...).stdout, "\nThread "); got != threads {
		t.Errorf("gdb: %d threads, want %d", got, threads)
	}
	if got := sum(readFolded(t, show(t, append(args, "-f", "folded")...).stdout)); got != threads {
		t.Errorf("folded: %d threads, want %d", got, threads)
	}
}

// TestNamesAreSharedByProcesses: processes that are sampled together, and share what is known of
// their files, have the stacks that each has alone.
func TestNamesAreSharedByProcesses(t *testing.T) {
	var pids []string
	for _, name := range []string{"threads", "threads-rust", "threads", "threads-go", "threads-rust", "except"} {
		args := []string{"2", "6"}
		if name == "except" {
			args = nil
		}
		pids = append(pids, strconv.Itoa(runTarget(t, name, args...).pid))
	}
	together := decode(t, show(t, "-f", "json", "-p", strings.Join(pids, ",")).stdout)
	if len(together) != len(pids) {
		t.Fatalf("%d dumps, want %d", len(together), len(pids))
	}
	for i, pid := range pids {
		alone := decode(t, show(t, "-f", "json", "-p", pid).stdout)[0]
		for k := range alone.Threads {
			want := &alone.Threads[k]
			got := together[i].thread(t, want.TID)
			if len(want.Stack.Frames) == 0 || len(got.Stack.Frames) == 0 ||
				got.Stack.Frames[0].Address != want.Stack.Frames[0].Address {
				continue // a thread of Go's runtime moved
			}
			if !reflect.DeepEqual(got.Stack, want.Stack) {
				t.Errorf("process %s thread %d: together %+v\nalone %+v", pid, want.TID, got.Stack.Frames,
					want.Stack.Frames)
			}
		}
	}
}

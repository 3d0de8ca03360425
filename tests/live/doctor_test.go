//go:build linux

package live

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// observer is who samples, and what.
type observer struct {
	run []string // what comes before fpstack: who runs it
	pid string
	// inside runs a whole script instead, with fpstack as $0 and its arguments behind; for an observer
	// that shares a namespace with the process. The script sets pid.
	inside string
	self   bool   // a shell asks for its own id, and becomes fpstack
	env    string // NAME=VALUE, added
}

// fpstack runs it as the observer.
func (o observer) fpstack(t *testing.T, args ...string) outcome {
	t.Helper()
	var line []string
	switch {
	case o.self:
		line = append([]string{"sh", "-c", `exec "$0" "$@" -p $$`, fpstack}, args...)
	case o.inside != "":
		line = append([]string{"unshare", "--mount", "--pid", "--fork", "sh", "-c", o.inside, fpstack}, args...)
	default:
		line = append(append(append([]string{}, o.run...), fpstack), append(args, "-p", o.pid)...)
	}
	if name, value, ok := strings.Cut(o.env, "="); ok {
		t.Setenv(name, value)
	}
	got := execute(t, bound, installed(t, line[0]), line[1:]...)
	checkEnd(t, got, line)
	return got
}

// nobody runs what follows as a user without rights.
var nobody = []string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"}

// withoutCapabilities runs what follows as root that may do no more than its ids allow.
var withoutCapabilities = []string{"setpriv", "--inh-caps=-all", "--bounding-set=-all"}

// inUserNamespace runs what follows as root of a user namespace of its own.
var inUserNamespace = append(append([]string{}, nobody...), "unshare", "--user", "--map-root-user")

// as starts a process that sleeps, begun by what is in front.
func as(t *testing.T, front ...string) string {
	t.Helper()
	line := append(append([]string{}, front...), "sh", "-c", "echo $$; exec sleep 600")
	p := launch(t, exec.Command(installed(t, line[0]), line[1:]...))
	pid := p.line(t)
	if _, err := strconv.Atoi(pid); err != nil {
		t.Skipf("%q does not run here: %q", line, pid)
	}
	if contains(front, "--pid") { // it sees itself as process 1
		pid = strconv.Itoa(lastOf(p.pid))
	}
	n, _ := strconv.Atoi(pid)
	await(t, "sleep runs", func() bool {
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", n))
		return string(comm) == "sleep\n" && stateOf(n) == 'S'
	})
	return pid
}

func contains(words []string, want string) bool {
	for _, w := range words {
		if w == want {
			return true
		}
	}
	return false
}

// lastOf gives the youngest process below pid, itself if there is none.
func lastOf(pid int) int {
	for range 16 {
		below := childrenOf(pid)
		if len(below) == 0 {
			return pid
		}
		pid = below[len(below)-1]
	}
	return pid
}

// undumpable starts a process of nobody that made itself not dumpable.
func undumpable(t *testing.T) string {
	t.Helper()
	line := append(append([]string{}, nobody...), enterable(t, "undumpable"))
	cmd := exec.Command(installed(t, line[0]), line[1:]...)
	return strconv.Itoa(launch(t, cmd).ready(t).pid)
}

// enterable copies a program of testdata/live to where others than root may run it.
func enterable(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(room(t), name)
	copyFile(t, program(t, name), path)
	return path
}

// hidden is a process in a /proc with hidepid, and nobody before it.
const hidden = `mount -t proc -o hidepid=HOW proc /proc || exit 99
sleep 600 & pid=$!
setpriv --reuid 65534 --regid 65534 --clear-groups "$0" "$@" -p $pid; status=$?
kill $pid; exit $status`

// TestGates makes each gate refuse for real, and asks doctor and a dump: what the gates say must
// agree with what the kernel did. Yama, an old kernel, security modules and a core dump under
// way are tested on a made-up /proc in package doctor.
func TestGates(t *testing.T) {
	asRoot(t)
	for _, tt := range []struct {
		name string
		who  func(t *testing.T) observer
		gate string // that is closed; "" for none
	}{
		{"root samples another user's process", func(t *testing.T) observer { return observer{pid: as(t, nobody...)} },
			""},
		{"a user samples a process of the same user",
			func(t *testing.T) observer { return observer{run: nobody, pid: as(t, nobody...)} }, ""},
		{"another user", func(t *testing.T) observer { return observer{run: nobody, pid: as(t)} }, "uid"},
		{"another group", func(t *testing.T) observer {
			return observer{run: nobody, pid: as(t, "setpriv", "--reuid", "65534", "--regid", "2", "--clear-groups")}
		}, "uid"},
		{"root without capabilities, another user", func(t *testing.T) observer {
			return observer{run: withoutCapabilities, pid: as(t, nobody...)}
		}, "uid"},
		{"root without capabilities, root with them", func(t *testing.T) observer {
			return observer{run: withoutCapabilities, pid: as(t)}
		}, "capabilities of the process"},
		{"root without capabilities, root without them", func(t *testing.T) observer {
			return observer{run: withoutCapabilities, pid: as(t, withoutCapabilities...)}
		}, ""},
		{"not dumpable", func(t *testing.T) observer { return observer{run: nobody, pid: undumpable(t)} }, "dumpable"},
		{"not dumpable, for root", func(t *testing.T) observer { return observer{pid: undumpable(t)} }, ""},
		{"a filter says EPERM", func(t *testing.T) observer { return filtered(t, "eperm") }, "seccomp"},
		{"a filter says ENOSYS", func(t *testing.T) observer { return filtered(t, "enosys") }, "seccomp"},
		{"strace is there", func(t *testing.T) observer { return observer{pid: startStrace(t)} }, "tracer"},
		{"gdb is there", func(t *testing.T) observer { return observer{pid: startGDB(t)} }, "tracer"},
		{"hidepid=2", func(t *testing.T) observer { return observer{inside: strings.ReplaceAll(hidden, "HOW", "2")} },
			"hidepid"},
		{"hidepid=1", func(t *testing.T) observer { return observer{inside: strings.ReplaceAll(hidden, "HOW", "1")} },
			"hidepid"},
		{"user namespace below, for root",
			func(t *testing.T) observer { return observer{pid: as(t, inUserNamespace...)} }, ""},
		{"user namespace below, for who made it", func(t *testing.T) observer {
			return observer{run: nobody, pid: as(t, inUserNamespace...)}
		}, ""},
		{"user namespace above",
			func(t *testing.T) observer { return observer{run: inUserNamespace, pid: as(t, nobody...)} },
			"user namespace"},
		{"user namespace beside", func(t *testing.T) observer {
			return observer{run: inUserNamespace,
				pid: as(t, append(append([]string{}, nobody...), "unshare", "--user")...)}
		}, "user namespace"},
		{"user namespace that maps every id to itself", func(t *testing.T) observer {
			return observer{run: []string{"sh", "-c", inIdentityMap}, pid: as(t)}
		}, "user namespace"},
		{"CAP_SYS_PTRACE alone, a process of root", func(t *testing.T) observer { return capable(t, as(t)) }, ""},
		{"CAP_SYS_PTRACE alone, another user's process", func(t *testing.T) observer {
			return capable(t, as(t, "setpriv", "--reuid", "3", "--regid", "3", "--clear-groups"))
		}, ""},
		{"CAP_SYS_PTRACE alone, not dumpable", func(t *testing.T) observer { return capable(t, undumpable(t)) }, ""},
		{"CAP_SYS_PTRACE alone, a container of mount and pid namespaces and a root of its own",
			func(t *testing.T) observer {
				return capable(t, as(t, "unshare", "--mount", "--pid", "--fork", "--mount-proc", "chroot", "/"))
			}, ""},
		{"pid namespace below",
			func(t *testing.T) observer { return observer{pid: as(t, "unshare", "--pid", "--fork")} }, ""},
		{"thread of the kernel", func(t *testing.T) observer { return observer{pid: kernelThread(t)} }, "process"},
		{"zombie", func(t *testing.T) observer { return observer{pid: startZombie(t)} }, "process"},
		{"a leader that ended before its threads",
			func(t *testing.T) observer { return observer{pid: strconv.Itoa(runLeaderless(t).pid)} }, ""},
		{"no such process", func(t *testing.T) observer { return observer{pid: unusedPID(t)} }, "process"},
		{"itself", func(t *testing.T) observer { return observer{self: true} }, "process"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkGates(t, tt.who(t), tt.gate)
		})
	}
}

// inIdentityMap runs what follows as root of a user namespace that maps ids as the machine's does.
const inIdentityMap = `unshare --user sleep 600 & u=$!
while [ "$(readlink /proc/$u/ns/user)" = "$(readlink /proc/self/ns/user)" ]; do :; done
echo "0 0 4294967295" >/proc/$u/uid_map && echo "0 0 4294967295" >/proc/$u/gid_map || exit 99
nsenter --user -t $u "$0" "$@"; s=$?; kill $u; exit $s`

// capable is nobody, with a copy of fpstack that a file capability gives CAP_SYS_PTRACE alone.
func capable(t *testing.T, pid string) observer {
	t.Helper()
	path := filepath.Join(room(t), "fpstack")
	copyFile(t, fpstack, path)
	if out, err := exec.Command(installed(t, "setcap"), "cap_sys_ptrace+ep", path).CombinedOutput(); err != nil {
		t.Skipf("no file capabilities here: %v, %s", err, out)
	}
	// What the table runs as fpstack is $0 of this shell.
	return observer{run: append(append([]string{}, nobody...), "sh", "-c", `exec "$FPSTACK_CAPABLE" "$@"`), pid: pid,
		env: "FPSTACK_CAPABLE=" + path}
}

// filtered is root under a filter that refuses ptrace.
func filtered(t *testing.T, how string) observer {
	return observer{run: []string{enterable(t, "noptrace"), how}, pid: as(t)}
}

// examined is what the tests want of a document of doctor.
type examined struct {
	PID    int
	Passes bool
	Tried  string
	Gates  []struct{ Name, State, Says, Remedy string }
}

func checkGates(t *testing.T, who observer, gate string) {
	t.Helper()
	doctor := who.fpstack(t, "doctor", "-f", "json")
	dump := who.fpstack(t)
	checkDoctorSchema(t, doctor.stdout)
	var got examined
	if err := json.Unmarshal([]byte(doctor.stdout), &got); err != nil {
		t.Fatalf("doctor wrote %q, %s", doctor.stdout, doctor.stderr)
	}
	passes := gate == ""
	wantStatus, wantDump := 0, 0
	if !passes {
		wantStatus, wantDump = 1, 2
	}
	if gate == "tracer" || gate == "seccomp" { // which refuse the stop alone: the memory may be read
		wantDump = 0
	}
	if doctor.status != wantStatus || got.Passes != passes || dump.status != wantDump {
		t.Errorf("doctor: status %d, passes %v, tried %q; dump: status %d, %s\nwant %d, %v and %d",
			doctor.status, got.Passes, got.Tried, dump.status, dump.stderr, wantStatus, passes, wantDump)
	}
	var closed []string
	for _, g := range got.Gates {
		if g.State != "closed" {
			continue
		}
		closed = append(closed, g.Name)
		if g.Remedy == "" {
			t.Errorf("gate %q is closed, and there is no remedy", g.Name)
		}
	}
	if len(closed) > 0 != !passes || !passes && closed[0] != gate {
		t.Errorf("closed gates %q, want first %q", closed, gate)
	}
	if _, remedy, has := strings.Cut(dump.stderr, "\n  "); wantDump != 0 && gate != "process" &&
		(!has || len(remedy) < 10) {
		t.Errorf("the dump gives no remedy: %q", dump.stderr)
	}
}

func checkDoctorSchema(t *testing.T, text string) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/fpstack.doctor.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	checkSchema(t, schema, text)
}

// TestDoctorWithoutProcess: what may be done at all.
func TestDoctorWithoutProcess(t *testing.T) {
	asRoot(t)
	o := show(t, "doctor")
	if o.status != 0 || o.stdout != "processes of any user can be sampled\n" {
		t.Errorf("status %d, %q", o.status, o.stdout)
	}
	if v := show(t, "doctor", "-v"); v.status != 0 || !strings.HasPrefix(v.stdout, o.stdout+"  kernel ") ||
		strings.Count(v.stdout, "\n") < 5 {
		t.Errorf("with -v: status %d, %q", v.status, v.stdout)
	}
	pid := sleeper(t)
	if o := show(t, "doctor", "-p", pid); o.status != 0 || o.stdout != "process "+pid+
		` "threads" can be sampled: tried, and the kernel allowed it`+"\n" {
		t.Errorf("of a process: status %d, %q", o.status, o.stdout)
	}
	checkDoctorSchema(t, show(t, "doctor", "-f", "json").stdout)
	refused := execute(t, bound, enterable(t, "noptrace"), "eperm", fpstack, "doctor")
	if refused.status != 1 || !strings.HasPrefix(refused.stdout, "our processes cannot be sampled: the system "+
		"call ptrace is refused to us, whatever its target\n") {
		t.Errorf("under a filter: status %d, %q", refused.status, refused.stdout)
	}
	checkClean(t, refused.stdout)
}

// TestDoctorOfSeveral: one document each, the status of the worst.
func TestDoctorOfSeveral(t *testing.T) {
	asRoot(t)
	good, bad := sleeper(t), startZombie(t)
	o := show(t, "doctor", "-f", "json", "-p", good+","+bad)
	var passes []bool
	for dec := json.NewDecoder(strings.NewReader(o.stdout)); dec.More(); {
		var e examined
		if err := dec.Decode(&e); err != nil {
			t.Fatal(err)
		}
		passes = append(passes, e.Passes)
	}
	if fmt.Sprint(passes) != "[true false]" || o.status != 1 {
		t.Errorf("passes %v, status %d; want [true false], 1", passes, o.status)
	}
}

// TestRemediesFitThePlace: the same refusal, worded for where fpstack runs.
func TestRemediesFitThePlace(t *testing.T) {
	asRoot(t)
	pid := sleeper(t)
	for _, tt := range []struct{ env, want string }{
		{"GITHUB_ACTIONS=true", "Run with sudo"},
		{"KUBERNETES_SERVICE_HOST=10.0.0.1", "kubectl debug"},
		{"container=podman", "as root in the container"},
	} {
		line := append(append([]string{}, nobody[1:]...), "env", "-u", "GITHUB_ACTIONS", "-u",
			"KUBERNETES_SERVICE_HOST", tt.env, fpstack, "-p", pid)
		o := execute(t, bound, installed(t, nobody[0]), line...)
		checkEnd(t, o, line)
		checkRefusal(t, o, "permission denied", tt.want)
	}
}

// TestCapabilityAlone: with CAP_SYS_PTRACE and no other right, stacks, system calls, names and a recording of another
// user's process are what root gets. What is missing is reported.
func TestCapabilityAlone(t *testing.T) {
	asRoot(t)
	for _, user := range []string{"0", "3"} {
		line := []string{"--reuid", user, "--regid", user, "--clear-groups", program(t, "duty"), "100", "2", "cpu",
			"70", "30"}
		p := launch(t, exec.Command(installed(t, "setpriv"), line...)).ready(t)
		who := capable(t, strconv.Itoa(p.pid))
		o := who.fpstack(t, "--no-group", "-v")
		root := show(t, "--no-group", "-v", "-p", who.pid)
		if o.status != 0 || strings.Count(o.stdout, "\n  #0 ") != strings.Count(root.stdout, "\n  #0 ") ||
			!strings.Contains(o.stdout, "work_") {
			t.Errorf("of user %s: status %d, %s\n%s\nroot gets\n%s", user, o.status, o.stderr, o.stdout, root.stdout)
		}
		waits := regexp.MustCompile(`(?m)^\d+ .* S  (futex\(.*)$`)
		if got, want := waits.FindStringSubmatch(o.stdout), waits.FindStringSubmatch(root.stdout); got == nil ||
			want == nil || got[1] != want[1] {
			t.Errorf("of user %s: the call that its main thread waits in is %q, root gets %q", user, got, want)
		}
		rec := who.fpstack(t, "record", "-d", "1s", "-f", "folded", "-q")
		if self := foldedSelf(t, rec.stdout); rec.status != 0 || self["futex"] == 0 ||
			!strings.Contains(rec.stdout, "run;work_") {
			t.Errorf("of user %s: record: status %d, %s\n%s", user, rec.status, rec.stderr, rec.stdout)
		}
		o = who.fpstack(t, "doctor", "-v")
		if !strings.Contains(o.stdout, "process_vm_readv") || !strings.Contains(o.stdout, "CAP_DAC_READ_SEARCH") {
			t.Errorf("doctor does not say how memory is read: %s", o.stdout)
		}
		checkFree(t, p.pid)
	}
	cmd := exec.Command(installed(t, "cat"))
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	cat := launch(t, cmd)
	await(t, "cat waits for input", func() bool { return stateOf(cat.pid) == 'S' && callOf(cat.pid) == "0" })
	o := capable(t, strconv.Itoa(cat.pid)).fpstack(t)
	if o.status != 1 || !strings.Contains(o.stdout, "  waits in read(0)\n") ||
		!strings.Contains(o.stderr, "CAP_DAC_READ_SEARCH") {
		t.Errorf("a file that has no name: status %d, %s\n%s", o.status, o.stderr, o.stdout)
	}
}

// callOf gives the number of the system call that a thread is in, as text.
func callOf(tid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", tid))
	number, _, _ := strings.Cut(string(b), " ")
	return number
}

//go:build linux

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// checkNamed checks that fpstack names the functions of the sleepers of threads.c, so that
// it read the right file, and that text output is harmless.
func checkNamed(t *testing.T, pid int) *dump {
	t.Helper()
	d := dumpJSON(t, pid)
	found := 0
	for i := range d.Threads {
		names := d.Threads[i].functions()
		if at := slices.Index(names, "descend"); at > 0 && names[at-1] == "bottom" &&
			slices.Contains(names, "thread_main") {
			found++
		}
		if !d.Threads[i].Stack.Complete {
			t.Errorf("thread %d: stack is cut: %s", d.Threads[i].TID, d.Threads[i].Stack.Detail)
		}
	}
	if found != 2 {
		t.Errorf("%d threads show bottom, descend and thread_main, want 2\n%s", found,
			show(t, "-p", strconv.Itoa(pid)).stdout)
	}
	checkClean(t, text(t, "-v", "-p", strconv.Itoa(pid)))
	return d
}

// startCopy starts a copy of threads-static that lies at path.
func startCopy(t *testing.T, path string) *target {
	t.Helper()
	copyFile(t, program(t, "threads-static"), path)
	p := launch(t, exec.Command(path, "2", "5")).ready(t)
	asleep(t, p.pid)
	return p
}

func TestDeletedExecutable(t *testing.T) {
	path := filepath.Join(room(t), "gone")
	p := startCopy(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	checkNamed(t, p.pid)
}

// Another program is where the running one was: its names would be lies.
func TestReplacedExecutable(t *testing.T) {
	path := filepath.Join(room(t), "replaced")
	p := startCopy(t, path)
	copyFile(t, installed(t, "sleep"), path+".new")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	checkNamed(t, p.pid)
}

// Without the right to follow map_files, and with the file gone, nothing is left to read but
// what is in memory. No name may come from the file that took its place.
func TestReplacedExecutableWithoutRights(t *testing.T) {
	asRoot(t)
	dir := room(t)
	path := filepath.Join(dir, "replaced")
	copyFile(t, program(t, "threads-static"), path)
	nobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd := exec.Command(path, "2", "5")
	cmd.SysProcAttr = nobody
	p := launch(t, cmd).ready(t)
	asleep(t, p.pid)
	copyFile(t, program(t, "threads-static-pie"), path+".new")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	o := execute(t, bound, installed(t, "setpriv"), "--reuid", "65534", "--regid", "65534", "--clear-groups", fpstack,
		"-p", strconv.Itoa(p.pid))
	checkEnd(t, o, nil)
	if o.status > 1 || strings.Count(o.stdout, " descend ") < 5 {
		t.Errorf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
}

func TestMemfdExecutable(t *testing.T) {
	b, err := os.ReadFile(program(t, "threads-static"))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.MemfdCreate("in memory\n", unix.MFD_CLOEXEC)
	if err != nil {
		t.Skipf("memfd_create: %v", err)
	}
	f := os.NewFile(uintptr(fd), "memfd")
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/fd/3", "2", "5")
	cmd.ExtraFiles = []*os.File{f}
	p := launch(t, cmd).ready(t)
	asleep(t, p.pid)
	checkNamed(t, p.pid)
}

func TestDeletedLibrary(t *testing.T) {
	dir := room(t)
	library := filepath.Join(dir, "libc.so.6")
	copyFile(t, libc(t), library)
	cmd := exec.Command(program(t, "threads"), "2", "5")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir)
	p := launch(t, cmd).ready(t)
	asleep(t, p.pid)
	if err := os.Remove(library); err != nil {
		t.Fatal(err)
	}
	d := checkNamed(t, p.pid)
	for i := range d.Threads {
		if got := d.Threads[i].functions()[0]; got != "pause" {
			t.Errorf("thread %d: innermost function %q, want pause of the deleted library", d.Threads[i].TID, got)
		}
	}
}

// libc finds the C library that the test programs run with.
func libc(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(runTarget(t, "threads", "0").pid) + "/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 6 && strings.Contains(f[5], "/libc.so") {
			return f[5]
		}
	}
	t.Skip("threads has no libc.so")
	return ""
}

func TestChroot(t *testing.T) {
	asRoot(t)
	dir := room(t)
	copyFile(t, program(t, "threads-static"), filepath.Join(dir, "inside"))
	if err := os.Mkdir(filepath.Join(dir, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := `mount --bind /proc "$1/proc" && exec chroot "$1" /inside 2 5` // the program reads /proc
	cmd := exec.Command(installed(t, "unshare"), "-m", "sh", "-c", script, "sh", dir)
	p := launch(t, cmd).ready(t)
	asleep(t, p.pid)
	checkNamed(t, p.pid)
}

// In a mount namespace of its own the path of the program leads elsewhere from outside: to
// another program.
func TestMountNamespace(t *testing.T) {
	asRoot(t)
	dir := room(t)
	path := filepath.Join(dir, "prog")
	copyFile(t, installed(t, "sleep"), path)
	script := `mount -t tmpfs none "$1" && cat <&3 >"$1/prog" && chmod +x "$1/prog" && exec "$1/prog" 2 5`
	f, err := os.Open(program(t, "threads-static"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command(installed(t, "unshare"), "-m", "sh", "-c", script, "sh", dir)
	cmd.ExtraFiles = []*os.File{f}
	p := launch(t, cmd).ready(t)
	asleep(t, p.pid)
	checkNamed(t, p.pid)
}

// In a pid namespace of its own the process believes to have other ids than those that
// fpstack is given.
func TestPIDNamespace(t *testing.T) {
	asRoot(t)
	cmd := exec.Command(installed(t, "unshare"), "-pf", "--kill-child", "--mount-proc",
		program(t, "threads-static"), "2", "5")
	p := launch(t, cmd).ready(t)
	inner := childrenOf(p.pid)
	if len(inner) != 1 {
		t.Fatalf("children of unshare: %v, want one", inner)
	}
	asleep(t, inner[0])
	d := checkNamed(t, inner[0])
	if got, want := len(d.Threads), len(threadsOf(inner[0])); got != want {
		t.Errorf("%d threads, want %d", got, want)
	}
	for i := range d.Threads {
		if !slices.Contains(threadsOf(inner[0]), d.Threads[i].TID) {
			t.Errorf("thread %d is none as seen from here", d.Threads[i].TID)
		}
	}
}

// TestUserNamespace: root samples in a user namespace in which the process is root.
func TestUserNamespace(t *testing.T) {
	cmd := exec.Command(installed(t, "unshare"), "-Ur", program(t, "threads-static"), "2", "5")
	if out, err := exec.Command("unshare", "-Ur", "true").CombinedOutput(); err != nil {
		t.Skipf("no user namespaces: %s", out)
	}
	p := launch(t, cmd).ready(t)
	asleep(t, p.pid)
	checkNamed(t, p.pid)
}

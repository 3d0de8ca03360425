//go:build linux

package tracer

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/fpstack/fpstack/maps"
	"golang.org/x/sys/unix"
)

// helper is what the test binary does as a target of its own tests.
func helper(mode string) {
	switch mode {
	case "spin":
		go recurse(20000)
		time.Sleep(50 * time.Millisecond)
		fmt.Print("r")
	case "files":
		files()
	case "rooted":
		check(unix.Chroot(os.Getenv("TRACER_TEST_ROOT")))
		fmt.Print("r")
	case "served":
		served(os.Getenv("TRACER_TEST_ROOT"))
	case "cputime":
		pid, err := strconv.Atoi(os.Getenv("TRACER_TEST_PID"))
		check(err)
		spent, err := (&Process{pid: pid}).CPUTime()
		check(err)
		fmt.Println(int64(spent))
		return
	case "refused":
		refusedHelper()
		return
	}
	time.Sleep(time.Hour)
}

// served mounts a FUSE file system at dir for which nobody answers.
func served(dir string) {
	fuse, err := unix.Open("/dev/fuse", unix.O_RDWR, 0)
	if err != nil {
		fmt.Print("n")
		return
	}
	check(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	if unix.Mount("x", dir, "fuse.test", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse)) != nil {
		fmt.Print("n")
		return
	}
	fmt.Print("r")
}

func recurse(n int) int {
	if n > 0 {
		return recurse(n-1) + n
	}
	for end := time.Now().Add(time.Hour); time.Now().Before(end); {
		runtime.Gosched()
	}
	return 0
}

// files opens one descriptor of each kind and prints their numbers with what they are.
func files() {
	dir, err := os.MkdirTemp("", "tracer-helper")
	check(err)
	defer os.RemoveAll(dir)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	check(err)
	client, err := net.Dial("tcp4", listener.Addr().String())
	check(err)
	six, err := net.Listen("tcp6", "[::1]:0")
	name := "none"
	var sixFD uintptr
	if err == nil {
		name, sixFD = six.Addr().String(), number32(six.(*net.TCPListener))
	}
	local, err := net.Listen("unix", filepath.Join(dir, "s"))
	check(err)
	r, _, err := os.Pipe()
	check(err)
	gone, err := os.Create(filepath.Join(dir, "gone"))
	check(err)
	check(os.Remove(gone.Name()))
	fmt.Printf("r%d %s %d %s %d %s %d %s %d %d %s\n",
		number32(listener.(*net.TCPListener)), listener.Addr(),
		number32(client.(*net.TCPConn)), client.LocalAddr(), sixFD, name,
		number32(local.(*net.UnixListener)), filepath.Join(dir, "s"),
		r.Fd(), gone.Fd(), gone.Name())
	time.Sleep(time.Hour)
}

// refusedHelper prints why a process of another user cannot be opened.
func refusedHelper() {
	pid, err := strconv.Atoi(os.Getenv("TRACER_TEST_PID"))
	check(err)
	_, err = Open(pid, Options{})
	var e *PermissionError
	if !errors.As(err, &e) {
		fmt.Println("not refused:", err)
		return
	}
	fmt.Printf("process %d, %q: %v\n", e.PID, e.Comm, e)
}

func itoa(n int) string { return strconv.Itoa(n) }

type filer interface{ File() (*os.File, error) }

// number32 is a descriptor of the same socket.
func number32(f filer) uintptr {
	file, err := f.File()
	check(err)
	return file.Fd()
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// seizeAndInterrupt seizes one thread and interrupts it.
func seizeAndInterrupt(l *Sampler, w *Watch, c *Copy, table *maps.Table) error {
	if err := l.Seize(w, c, table); err != nil {
		return err
	}
	return l.Interrupt(c)
}

//go:build linux

package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// suspends makes this program another one: it holds the lock under which programs are started, and suspends itself.
const suspends = "FPSTACK_TEST_SUSPENDS"

func TestMain(m *testing.M) {
	if os.Getenv(suspends) != "" {
		suspendWhileStarting()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func suspendWhileStarting() {
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, syscall.SIGCONT)
	syscall.ForkLock.Lock()
	time.AfterFunc(300*time.Millisecond, func() {
		fmt.Println("started")
		syscall.ForkLock.Unlock()
	})
	Suspend(goOn)
	fmt.Println("goes on")
}

// A program that is being started has begun before our group is stopped.
func TestSuspendWhileStarting(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), suspends+"=1")
	cmd.Stdout = write
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	defer cmd.Process.Kill()
	var info unix.Siginfo
	const ends = unix.WSTOPPED | unix.WEXITED | unix.WNOWAIT
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, ends, nil); err != nil {
		t.Fatal(err)
	}
	before := make([]byte, 100)
	read.SetReadDeadline(time.Now().Add(time.Second))
	n, _ := read.Read(before)
	if got := string(before[:n]); got != "started\n" {
		t.Errorf("when it is stopped, it has written %q, want that a program was started", got)
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

//go:build linux

package supervise

import (
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startPiped starts a command whose standard output can be read, and ends it with the test.
func startPiped(t *testing.T, script string, opt Options) (*Command, io.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	opt.Files = []uintptr{0, w.Fd(), 2}
	c, err := Start([]string{"/bin/sh", "-c", script}, opt)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.process.Kill()
		c.Wait()
		r.Close()
	})
	return c, r
}

// awaitByte returns when the command has written something.
func awaitByte(t *testing.T, r io.Reader) {
	t.Helper()
	if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

// A signal that comes before the command runs is kept for it; one that comes later reaches it at once.
func TestRelay(t *testing.T) {
	const script = `trap 'printf u; exit 7' USR1; trap 'printf t' TERM; printf r; while :; do sleep 0.01; done`
	c, out := startPiped(t, script, Options{})
	awaitByte(t, out)
	var r Relay
	r.Pass(syscall.SIGTERM)
	r.To(c)
	awaitByte(t, out)
	r.Pass(syscall.SIGUSR1)
	if status, err := c.Wait(); status != 7 || err != nil {
		t.Errorf("got status %d, %v; want 7", status, err)
	}
	if !c.Gone() {
		t.Error("it is there after its end")
	}
	r.Pass(syscall.SIGUSR1) // nobody gets it
}

func TestEnd(t *testing.T) {
	c, out := startPiped(t, `printf r; exec sleep 1000`, Options{})
	awaitByte(t, out)
	if err := c.End(time.Minute); err != nil {
		t.Error(err)
	}
	if status, err := c.Wait(); status != 128+int(syscall.SIGTERM) || err != nil {
		t.Errorf("got status %d, %v", status, err)
	}
	if err := c.End(0); err != nil {
		t.Errorf("after its end: %v", err)
	}
	c, out = startPiped(t, `trap "" TERM; printf r; while :; do sleep 0.01; done`, Options{})
	awaitByte(t, out)
	if err := c.End(50 * time.Millisecond); err == nil || c.Gone() {
		t.Errorf("it ignores SIGTERM: got %v, gone %v", err, c.Gone())
	}
}

// What Around sets holds when the process is made, and the environment is the one given.
func TestOptions(t *testing.T) {
	before := syscall.Umask(0o22)
	defer syscall.Umask(before)
	calls := 0
	c, out := startPiped(t, `umask; echo "$PLACE"`, Options{Env: []string{"PLACE=here"}, Around: func(start func()) {
		calls++
		old := syscall.Umask(0o70)
		start()
		syscall.Umask(old)
	}})
	b, err := io.ReadAll(out)
	if string(b) != "0070\nhere\n" || err != nil || calls != 1 {
		t.Errorf("got %q, %v, after %d calls", b, err, calls)
	}
	if status, err := c.Wait(); status != 0 || err != nil {
		t.Errorf("got status %d, %v", status, err)
	}
}

// The environment has what os.Environ leaves out.
func TestEnvironment(t *testing.T) {
	if os.Getenv("SUPERVISE_TEST_TWICE") != "" {
		os.Stdout.WriteString(strings.Join(Environment(), "\n") + "\n")
		os.Exit(0)
	}
	env := append(os.Environ(), "SUPERVISE_TEST_TWICE=1", "SUPERVISE_TEST_TWICE=2", "")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c, err := Start([]string{"/proc/self/exe", "-test.run=^TestEnvironment$"},
		Options{Env: env, Files: []uintptr{0, w.Fd(), 2}})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(r)
	if _, err := c.Wait(); err != nil {
		t.Error(err)
	}
	got := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if !slices.Equal(got, env) {
		t.Errorf("got %q, want %q", got, env)
	}
}

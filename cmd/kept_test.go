package cmd

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/snapshot/core"
)

// fifo makes a pipe with a name.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// openPipe opens a pipe to read.
func openPipe(t *testing.T, path string) *kept {
	t.Helper()
	k := newKept(path)
	if err := k.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// writes opens the pipe after a while, waits, writes and closes it.
func writes(t *testing.T, path string, after, silent time.Duration, data string) {
	t.Helper()
	go func() {
		time.Sleep(after)
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer w.Close()
		time.Sleep(silent)
		io.WriteString(w, data)
	}()
}

// A pipe that nobody opens to write is given up; one that somebody has opened is waited for, however long it is
// silent.
func TestKeptPipe(t *testing.T) {
	const first = 300 * time.Millisecond
	err := openPipe(t, fifo(t)).begin(first)
	if err == nil || !strings.Contains(err.Error(), "a pipe that nobody has opened") {
		t.Errorf("no writer: %v", err)
	}
	for name, silent := range map[string]time.Duration{"late": 0, "late and silent": 3 * first} {
		path := fifo(t)
		k := openPipe(t, path)
		writes(t, path, first/3, silent, "what was written")
		if err := k.begin(first); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := io.ReadAll(k.stream); string(got) != "what was written" || err != nil {
			t.Errorf("%s: read %q, %v", name, got, err)
		}
	}
	path := fifo(t)
	k := openPipe(t, path)
	writes(t, path, 0, 0, "") // it dies before it wrote
	if err := k.begin(first); err == nil {
		t.Error("a writer that wrote nothing: no error")
	}
}

// A signal ends a read of a pipe whose writer does not go on.
func TestKeptInterrupted(t *testing.T) {
	path := fifo(t)
	k := openPipe(t, path)
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	io.WriteString(w, "\x7fELF and no more")
	if err := k.begin(time.Minute); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, k.interrupt)
	done := make(chan error, 1)
	go func() {
		_, _, cut, err := k.plain(func(r io.Reader, _ int64) io.Reader { return r })
		done <- errors.Join(cut, err)
	}()
	select {
	case err := <-done:
		if !errors.Is(err, errInterrupted) {
			t.Errorf("%v, want %v", err, errInterrupted)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it still reads")
	}
}

// counter counts what is read through it.
type counter struct {
	r io.Reader
	n int
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += n
	return n, err
}

// What is compressed and no core is known by its first bytes: little of it is unpacked, and nothing written.
func TestKeptZeros(t *testing.T) {
	zeros := make([]byte, 16<<20)
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	w.Write(zeros)
	w.Close()
	// A frame with a window of 128 KiB, and blocks of that size that repeat a byte. Source: RFC 8878, 3.1.1.
	zst := "\x28\xb5\x2f\xfd\x00\x38" + strings.Repeat("\x02\x00\x10\x00", len(zeros)>>17) + "\x03\x00\x00\x00"
	for name, file := range map[string]string{"gz": gz.String(), "zst": zst} {
		path := filepath.Join(t.TempDir(), "zeros."+name)
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		k, err := openKept(path)
		if err != nil {
			t.Fatal(err)
		}
		var unpacked counter
		_, _, _, err = k.plain(func(r io.Reader, _ int64) io.Reader { unpacked.r = r; return &unpacked })
		if !errors.Is(err, core.ErrNotCore) || k.temp != nil || unpacked.n > len(zeros)/16 {
			t.Errorf("%s: %v, %d bytes unpacked, a file made: %v", name, err, unpacked.n, k.temp != nil)
		}
		k.Close()
	}
}

// What is no file of a core is refused at once, and said what it is.
func TestKeptOther(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{t.TempDir(): "is a directory", os.DevNull: "it is empty",
		empty: "it is empty", filepath.Join(empty, "x"): "not a directory"} {
		if k, err := openKept(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", path, k, err, want)
		}
	}
	script := filepath.Join(t.TempDir(), "worker.py")
	if err := os.WriteFile(script, []byte("import time\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/dev/zero", script} {
		var not *nothingKept
		if _, err := openKept(path); !errors.As(err, &not) {
			t.Errorf("%s: %v, want that it is no dump", path, err)
		}
	}
}

// TestNameOfAScript: who writes the name of a script is told which process runs it.
func TestNameOfAScript(t *testing.T) {
	script := filepath.Join(t.TempDir(), "fpstack-example.sh")
	if err := os.WriteFile(script, []byte("read line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", script)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer in.Close()
	for _, word := range []string{"fpstack-example", "fpstack-example.sh", script} {
		want := fmt.Sprintf("Process %d is \"sh %s\"", c.Process.Pid, script)
		var out, complaint bytes.Buffer
		for range 100 { // until it is a shell
			complaint.Reset()
			Execute([]string{word}, &out, &complaint)
			if strings.Contains(complaint.String(), want) {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if !strings.Contains(complaint.String(), want) || out.Len() > 0 {
			t.Errorf("%s: %q and %q, want %q", word, out.String(), complaint.String(), want)
		}
	}
}

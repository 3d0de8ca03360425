//go:build linux

package supervise

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fpstack/fpstack/procfs"
)

// ErrNoHandler says that a process has no handler for SIGQUIT: it would end by it and show nothing.
var ErrNoHandler = errors.New("it has no handler for SIGQUIT")

// maxOwnDump bounds what is read of a runtime's own dump.
const maxOwnDump = 1 << 20

// OwnDump sends SIGQUIT to process pid, whose runtime writes a dump of its own then: a JVM to its standard output, and
// goes on, a Go program to its standard error, and ends. It returns what came, if these are
// regular files, and else nothing: it came where all their output comes. It takes patience at most.
//
// Precondition: the process is below this one, and not reaped by anybody else meanwhile.
// Source: "Signal" in package runtime of Go, and the java command of the JDK (-Xrs).
func OwnDump(pid int, patience time.Duration) (output []byte, err error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	st, err := procfs.ParseStatus(procfs.Read(fmt.Sprintf("/proc/%d/status", pid), 1<<14))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read signals of process %d: %w", pid, err)
	case st.Caught>>(uint(unix.SIGQUIT)-1)&1 == 0:
		return nil, fmt.Errorf("process %d: %w", pid, ErrNoHandler)
	}
	files := openOutputs(pid)
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if err := unix.PidfdSendSignal(fd, unix.SIGQUIT, nil, 0); err != nil {
		return nil, fmt.Errorf("signal process %d: %w", pid, err)
	}
	awaitQuiet(files, patience)
	for _, f := range files {
		b := make([]byte, min(maxOwnDump, max(0, f.size()-f.begin)))
		n, _ := f.ReadAt(b, f.begin)
		output = append(output, b[:n]...)
	}
	return output, nil
}

// outputFile is a regular file that a process writes to, and its size before.
type outputFile struct {
	*os.File
	begin int64
}

func (f *outputFile) size() int64 {
	info, err := f.Stat()
	if err != nil {
		return f.begin
	}
	return info.Size()
}

// openOutputs opens what standard output and error of a process are, each file once.
func openOutputs(pid int) []*outputFile {
	var out []*outputFile
	var first os.FileInfo
	for _, n := range []string{"1", "2"} {
		path := fmt.Sprintf("/proc/%d/fd/%s", pid, n)
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || first != nil && os.SameFile(first, info) {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		first = info
		out = append(out, &outputFile{f, info.Size()})
	}
	return out
}

// awaitQuiet waits until the files have grown and grow no more, without files for the whole patience.
func awaitQuiet(files []*outputFile, patience time.Duration) {
	const still = 200 * time.Millisecond
	began := time.Now()
	last, since := int64(0), began
	for time.Since(began) < patience {
		time.Sleep(20 * time.Millisecond)
		grown := int64(0)
		for _, f := range files {
			grown += f.size() - f.begin
		}
		if grown != last {
			last, since = grown, time.Now()
		}
		if last > 0 && time.Since(since) > still {
			return
		}
	}
}

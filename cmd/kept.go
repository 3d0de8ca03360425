package cmd

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/snapshot/core"
	"github.com/fpstack/fpstack/snapshot/unpack"
)

// kept is a file that a process was kept in: a core, perhaps compressed, what --save wrote, or a dump in JSON; or an
// object that such a file needs.
type kept struct {
	name   string
	file   *os.File // os.Stdin is not closed
	stream *bufio.Reader
	ended  atomic.Bool // a signal came
	kind   string      // of compression, "" for none
	what   content
	// released says that it is closed until reopen.
	released bool
	temp     *os.File
}

// content is what a file holds, as its first bytes say.
type content string

const (
	coreFile content = "a core file"
	saved    content = "a saved dump"
	document content = "a dump in JSON"
	object   content = "a program or debug file"
)

// openKept opens the file and learns what it is.
func openKept(name string) (*kept, error) {
	k := newKept(name)
	if err := k.open(); err != nil {
		return nil, fmt.Errorf("read dump: %w", err)
	}
	if err := k.begin(firstWriter); err != nil {
		k.Close()
		return nil, fmt.Errorf("dump %s: %w", fileLabel(name), err)
	}
	head, err := k.stream.Peek(4 << 10)
	if len(head) == 0 {
		k.Close()
		return nil, fmt.Errorf("dump %s: %w", fileLabel(name), emptyOr(err))
	}
	k.kind = unpack.Kind(head)
	k.what = contentOf(head, k.kind)
	if k.what == document && !beginsDocument(head) {
		k.Close()
		return nil, &nothingKept{name}
	}
	return k, nil
}

// beginsDocument reports whether what begins with head may be a dump in JSON.
func beginsDocument(head []byte) bool {
	begin := bytes.TrimLeft(head, " \t\r\n")
	return len(begin) == 0 || begin[0] == '{'
}

// nothingKept says that a file holds no dump.
type nothingKept struct{ name string }

func (e *nothingKept) Error() string {
	return fileLabel(e.name) + " is no core file, no saved dump and no dump in JSON"
}

// contentOf says what a file is that begins with head and is compressed by kind.
func contentOf(head []byte, kind string) content {
	isELF := bytes.HasPrefix(head, []byte(elf.ELFMAG))
	switch {
	case kind == "gzip" && snapshot.IsSaved(head):
		return saved
	case kind != "":
		return coreFile
	case !isELF:
		return document // or nothing at all: its reader says so
	case len(head) > 17 && head[16]|head[17] == byte(elf.ET_CORE) && head[16]&head[17] == 0: // in either byte order
		return coreFile
	}
	return object
}

// release closes a file that can be opened again, until it is its turn: there may be hundreds.
func (k *kept) release() {
	if info, err := k.file.Stat(); err == nil && info.Mode().IsRegular() && k.file != os.Stdin {
		k.file.Close()
		k.released = true
	}
}

// reopen opens what release closed.
func (k *kept) reopen() error {
	if !k.released {
		return nil
	}
	k.released = false
	k.stream.Reset(k)
	if err := k.open(); err != nil {
		return fmt.Errorf("read dump: %w", err)
	}
	return nil
}

func newKept(name string) *kept {
	k := &kept{name: name}
	k.stream = bufio.NewReaderSize(k, 64<<10)
	return k
}

// open opens the file so that a signal can end a read of a pipe. A pipe on standard input is opened once more for
// that: others may have the descriptor too, and it is not changed.
func (k *kept) open() (err error) {
	path := k.name
	if k.name == "-" {
		k.file, path = os.Stdin, "/proc/self/fd/0"
		if !isPipe(os.Stdin) {
			return nil
		}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case err == nil:
		k.file = f
	case k.name == "-": // it is another user's: a read waits for who writes
		err = nil
	}
	return err
}

func isPipe(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// firstWriter is how long a pipe with a name is waited for that nobody has opened to write.
const firstWriter = 10 * time.Second

// begin waits for the first bytes of a pipe with a name, which is at its end while nobody has opened it to write. One
// that has a writer is waited for as standard input is.
func (k *kept) begin(first time.Duration) error {
	if k.name == "-" || !isPipe(k.file) {
		return nil
	}
	const look = 20 * time.Millisecond
	for end := time.Now().Add(first); ; {
		if err := k.file.SetReadDeadline(time.Now().Add(look)); err != nil {
			return err
		}
		_, err := k.stream.Peek(1)
		switch {
		case err == nil:
			return k.file.SetReadDeadline(time.Time{})
		case errors.Is(err, os.ErrDeadlineExceeded): // somebody has opened it
			end = time.Now().Add(first)
		case !errors.Is(err, io.EOF):
			return err
		case time.Now().After(end):
			return fmt.Errorf("it is a pipe that nobody has opened to write within %v", first)
		default:
			time.Sleep(look)
		}
	}
}

// Read reads from the file until interrupt is called.
func (k *kept) Read(b []byte) (int, error) {
	n, err := k.file.Read(b)
	if k.ended.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		err = errInterrupted
	}
	return n, err
}

// interrupt ends a read that waits for who writes to a pipe. Files end by themselves.
func (k *kept) interrupt() {
	k.ended.Store(true)
	_ = k.file.SetReadDeadline(time.Unix(1, 0)) // files, and what cannot be opened anew, have none
}

func emptyOr(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty")
	}
	return err
}

// plain returns the core as it is read, and its size. What is compressed or cannot be read at any place is written to
// a temporary file, which has no name. cut says why that is not all of it.
func (k *kept) plain(charged func(io.Reader, int64) io.Reader) (r io.ReaderAt, size int64, cut, err error) {
	info, err := k.file.Stat()
	if err != nil {
		return nil, 0, nil, fmt.Errorf("read core: %w", err)
	}
	if k.kind == "" && info.Mode().IsRegular() && k.name != "-" {
		return k.file, info.Size(), nil, nil
	}
	from, err := unpack.NewReader(k.kind, k.stream)
	if err != nil {
		return nil, 0, nil, fmt.Errorf("core %s: %w", fileLabel(k.name), err)
	}
	defer from.Close()
	unpacked := bufio.NewReaderSize(charged(from, 0), 64<<10) // a signal ends it
	const magic = "\x7fELF"
	if head, err := unpacked.Peek(len(magic)); err == nil && string(head) != magic {
		return nil, 0, nil, fmt.Errorf("core %s: %w", fileLabel(k.name), core.ErrNotCore)
	}
	if k.temp, err = os.CreateTemp("", "fpstack-core-"); err != nil {
		return nil, 0, nil, fmt.Errorf("unpack core: %w", err)
	}
	if err := os.Remove(k.temp.Name()); err != nil {
		return nil, 0, nil, fmt.Errorf("unpack core: %w", err)
	}
	size, cut = unpack.Copy(newRoomy(k.temp, os.TempDir()), unpacked)
	return k.temp, size, cut, nil
}

// Close closes what was opened.
func (k *kept) Close() {
	if k.file != os.Stdin {
		k.file.Close()
	}
	if k.temp != nil {
		k.temp.Close()
	}
}

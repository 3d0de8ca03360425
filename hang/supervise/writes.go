//go:build linux

package supervise

import (
	"encoding/binary"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Writes notices writes to pipes and sockets, whoever writes, by inotify(7): that works for those without a name too,
// by their links in /proc, but for what is sent to a socket otherwise than by write(2). Its methods are for one
// goroutine; a nil *Writes notices nothing.
type Writes struct {
	fd      int
	watches map[string]uint32 // of each path; one pipe may have two
	counts  map[uint32]uint64
}

// WatchWrites begins to notice writes to those of the files at paths that are pipes or sockets. It is nil where the
// kernel notices none.
func WatchWrites(paths []string) *Writes {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil
	}
	w := &Writes{fd, map[string]uint32{}, map[uint32]uint64{}}
	if !w.works() {
		w.Close()
		return nil
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0 {
			w.add(path)
		}
	}
	return w
}

func (w *Writes) add(path string) bool {
	id, err := unix.InotifyAddWatch(w.fd, path, unix.IN_MODIFY)
	if err == nil {
		w.watches[path] = uint32(id)
	}
	return err == nil
}

// works reports whether a write to a pipe is noticed: kernels may leave out files without a name.
func (w *Writes) works() bool {
	r, out, err := os.Pipe()
	if err != nil {
		return false
	}
	defer r.Close()
	defer out.Close()
	path := "/proc/self/fd/" + strconv.Itoa(int(out.Fd()))
	if !w.add(path) {
		return false
	}
	out.Write([]byte{0})
	n, _ := w.Count(path)
	unix.InotifyRmWatch(w.fd, w.watches[path])
	delete(w.watches, path)
	return n > 0
}

// Count is a number that grows with writes to the file at path; ok is false if that is none that is watched.
func (w *Writes) Count(path string) (n uint64, ok bool) {
	if w == nil {
		return 0, false
	}
	w.read()
	id, ok := w.watches[path]
	return w.counts[id], ok
}

// read counts the events that have come. Source: struct inotify_event in inotify(7).
func (w *Writes) read() {
	var buf [4096]byte
	for {
		n, err := unix.Read(w.fd, buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n < unix.SizeofInotifyEvent {
			return
		}
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			id, mask := binary.NativeEndian.Uint32(b), binary.NativeEndian.Uint32(b[4:])
			size := int(binary.NativeEndian.Uint32(b[12:]))
			if mask&unix.IN_MODIFY != 0 {
				w.counts[id]++
			}
			if mask&unix.IN_Q_OVERFLOW != 0 { // some were lost, of whatever watch
				for _, id := range w.watches {
					w.counts[id]++
				}
			}
			b = b[min(len(b), unix.SizeofInotifyEvent+size):]
		}
	}
}

// Close ends it.
func (w *Writes) Close() {
	if w != nil {
		unix.Close(w.fd)
	}
}

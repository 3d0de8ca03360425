//go:build linux

package live

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestListeners: what listens is described by what the kernel says of it alone, as the tables of all connections would,
// which are read for what is connected.
func TestListeners(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err) // a machine without IPv6
			continue
		}
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		listens, connected := inodeOf(t, l.(*net.TCPListener)), inodeOf(t, c.(*net.TCPConn))
		w := &waitFiles{root: "/proc", sockets: map[uint64]*netTables{}}
		got := w.socket(unix.Getpid(), listens)
		tables := w.tables(unix.Getpid())
		if tables.folder == "" {
			t.Errorf("%s: the tables of all connections were read", at)
		}
		tables.listening = nil
		want := w.socket(unix.Getpid(), listens)
		if got == nil || want == nil || *got != *want || !got.Listening || got.Unread != 1 {
			t.Errorf("%s: %+v, the table has %+v", at, got, want)
		}
		if e := w.socket(unix.Getpid(), connected); e == nil || e.Accepts != listens {
			t.Errorf("%s: who was not accepted yet is %+v", at, e)
		}
	}
}

// FuzzListener: only what listens and is somebody's is one.
func FuzzListener(f *testing.F) {
	b := make([]byte, inetMessage)
	b[0], b[1], b[inetInode] = unix.AF_INET, stateListen, 7
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if e := parseListener(b); e != nil && (e.Inode == 0 || !e.Local.IsValid() || e.State != "LISTEN") {
			t.Errorf("%+v", e)
		}
	})
}

// inodeOf is the number of an open socket.
func inodeOf(t *testing.T, c syscall.Conn) uint64 {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if errControl := raw.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &st) }); errControl != nil || err != nil {
		t.Fatal(errControl, err)
	}
	return st.Ino
}

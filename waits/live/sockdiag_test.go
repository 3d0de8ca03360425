//go:build linux

package live

import (
	"net"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnixSockets: the kernel names both ends of a pair by each other, and who has not been accepted by who listens.
func TestUnixSockets(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	path := filepath.Join(t.TempDir(), "s\n")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(client)
	if err := unix.Connect(client, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Write(pair[0], []byte("abc")); err != nil {
		t.Fatal(err)
	}
	all, err := dumpUnix()
	if err != nil {
		t.Fatal(err)
	}
	a, b := all[socketInode(t, pair[0])], all[socketInode(t, pair[1])]
	if a == nil || b == nil || a.peer != b.inode || b.peer != a.inode || b.unread == 0 || a.unread != 0 {
		t.Errorf("the pair is %+v and %+v", a, b)
	}
	c := all[socketInode(t, client)]
	var listens *unixSocket
	for _, s := range all {
		if s.listens && s.name == path {
			listens = s
		}
	}
	if c == nil || c.peer != 0 || listens == nil || len(listens.waiting) != 1 || listens.waiting[0] != c.inode {
		t.Errorf("the client is %+v, the listener %+v", c, listens)
	}
}

func socketInode(t *testing.T, fd int) uint32 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	return uint32(st.Ino)
}

// FuzzUnixDiag: whatever the answer is, reading it ends, and a socket that is kept has an inode of its own.
func FuzzUnixDiag(f *testing.F) {
	f.Add([]byte{20, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{44, 0, 0, 0, 20, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 10, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		12, 0, 3, 0, 1, 0, 0, 0, 2, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		all := map[uint32]*unixSocket{}
		_, err := readSockets(b, func(body []byte) error {
			if s := parseUnixSocket(body); s != nil {
				all[s.inode] = s
			}
			return nil
		})
		if err == nil && len(b) == 0 {
			t.Error("an empty answer without an error")
		}
		for inode, s := range all {
			if s == nil || s.inode != inode || len(s.waiting)*4 > len(b) || len(s.name) > len(b)+1 {
				t.Errorf("socket %d is %+v", inode, s)
			}
		}
	})
}

// TestDescriptorPassIsBounded: what is beyond the bound is not looked at, and that is said.
func TestDescriptorPassIsBounded(t *testing.T) {
	w := &waitFiles{root: "/proc", maxDescriptors: 3}
	x := w.pass()
	if x.cut == "" || x.count == 0 {
		t.Errorf("%d descriptors, cut %q; want a bound that is reported", x.count, x.cut)
	}
	if whole := (&waitFiles{root: "/proc"}).pass(); whole.cut != "" || whole.count <= x.count {
		t.Errorf("without that bound: %d descriptors, cut %q", whole.count, whole.cut)
	}
}

//go:build linux

package live

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestNames: each kind of descriptor has the name that a person knows it by, and a closed one none.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	local, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	gone, err := os.Create(filepath.Join(dir, "gone"))
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	if err := os.Remove(gone.Name()); err != nil {
		t.Fatal(err)
	}
	number := func(c any) int {
		switch c := c.(type) {
		case *net.TCPListener:
			return controlled(t, c)
		case *net.TCPConn:
			return controlled(t, c)
		case *net.UnixListener:
			return controlled(t, c)
		}
		return int(c.(*os.File).Fd())
	}
	want := map[int]string{
		number(listener): "tcp " + listener.Addr().String() + " LISTEN",
		number(client):   fmt.Sprintf("tcp %v -> %v ESTABLISHED", client.LocalAddr(), listener.Addr()),
		number(local):    "unix stream " + local.Addr().String() + " LISTEN",
		number(gone):     gone.Name() + " (deleted)",
		number(r):        fmt.Sprintf("pipe:[%d]", socketInode(t, number(r))),
	}
	fds := []int{-1, 9999}
	for fd := range want {
		fds = append(fds, fd)
	}
	got := New().Names(os.Getpid(), fds)
	for fd, text := range want {
		if got[fd] != text {
			t.Errorf("descriptor %d: got %q, want %q", fd, got[fd], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("closed descriptors are named: %v", got)
	}
}

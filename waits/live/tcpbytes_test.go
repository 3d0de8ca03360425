//go:build linux

package live

import (
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

// Bytes are counted that went through a connection, at both ends.
func TestTCPBytes(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("no %s here: %v", address, err)
			continue
		}
		defer l.Close()
		accepted := make(chan net.Conn, 1)
		go func() {
			c, _ := l.Accept()
			accepted <- c
		}()
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		server := <-accepted
		defer server.Close()
		ends := []uint64{uint64(socketInode(t, controlled(t, client.(*net.TCPConn)))),
			uint64(socketInode(t, controlled(t, server.(*net.TCPConn))))}
		before, err := TCPBytes(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		const sent = 300_000
		go client.Write(make([]byte, sent))
		if _, err := io.ReadFull(server, make([]byte, sent)); err != nil {
			t.Fatal(err)
		}
		after, err := TCPBytes(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		// What was received is known at once, the last acknowledgement may be on its way.
		if n := after[ends[1]] - before[ends[1]]; n != sent {
			t.Errorf("%s: the server received %d bytes, want %d", address, n, sent)
		}
		if n := after[ends[0]] - before[ends[0]]; n == 0 || n > sent+1 {
			t.Errorf("%s: %d bytes of the client were acknowledged, want up to %d", address, n, sent)
		}
	}
}

func controlled(t *testing.T, c syscall.Conn) (fd int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(n uintptr) { fd = int(n) }); err != nil {
		t.Fatal(err)
	}
	return fd
}

// FuzzTCPBytes: whatever is said of a socket, reading it ends, and what is counted is of a socket.
func FuzzTCPBytes(f *testing.F) {
	f.Add(make([]byte, inetMessage))
	f.Add(append(make([]byte, inetMessage), 4, 0, 2, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		if inode, _, ok := parseTCPBytes(b); ok && (inode == 0 || len(b) < inetMessage+4+bytesReceived+8) {
			t.Errorf("socket %d of %d bytes", inode, len(b))
		}
	})
}

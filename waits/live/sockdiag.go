//go:build linux

package live

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/tracer/osthread"
	"golang.org/x/sys/unix"
)

// unixSocket is what the kernel says of one unix socket.
type unixSocket struct {
	inode, peer uint32   // peer 0: none, or it was not accepted yet
	waiting     []uint32 // of one that listens: sockets that were not accepted yet; 0 for one that is gone
	listens     bool
	kind        byte
	unread      uint32 // bytes, of one that listens connections
	name        string // a path, or abstract after "@"; "" for none
}

// Parts of the dialogue, which x/sys has no names for. Source: linux/sock_diag.h, linux/unix_diag.h.
const (
	sockDiagByFamily = 20

	unixDiagName  = 0
	unixDiagPeer  = 2
	unixDiagIcons = 3
	unixDiagRqlen = 4

	unixShowName  = 1 << 0
	unixShowPeer  = 1 << 2
	unixShowIcons = 1 << 3
	unixShowRqlen = 1 << 4

	stateListen = 10 // TCP_LISTEN, which unix sockets use too

	nlHeader, diagMessage = 16, 16
)

// maxUnixSockets bounds what is kept of the answer.
const maxUnixSockets = 256 << 10

var errTooManySockets = errors.New("there are too many sockets")

// inNetwork calls f in the network namespace of process pid; own says that it is ours. To enter another takes
// CAP_SYS_ADMIN.
func inNetwork(root string, pid int, own bool, f func() error) error {
	if own {
		return f()
	}
	return osthread.Run(func() error { // which ends in the other namespace
		ns, err := procfile.Open(unix.AT_FDCWD, root+"/"+strconv.Itoa(pid)+"/ns/net", unix.O_RDONLY)
		if err != nil {
			return err
		}
		err = unix.Setns(ns, unix.CLONE_NEWNET)
		unix.Close(ns)
		if err != nil {
			return err
		}
		return f()
	})
}

// dumpUnix asks for the unix sockets of the network namespace of the calling thread.
func dumpUnix() (map[uint32]*unixSocket, error) {
	request := make([]byte, 24)
	request[0] = unix.AF_UNIX
	binary.NativeEndian.PutUint32(request[4:], ^uint32(0)) // all states
	binary.NativeEndian.PutUint32(request[12:], unixShowName|unixShowPeer|unixShowIcons|unixShowRqlen)
	all := map[uint32]*unixSocket{}
	err := askSockets(request, func(body []byte) error {
		if len(all) >= maxUnixSockets {
			return errTooManySockets
		}
		if s := parseUnixSocket(body); s != nil {
			all[s.inode] = s
		}
		return nil
	})
	return all, err
}

// askSockets makes the dialogue about sockets in the network namespace of the calling thread: each gets what is said of
// one socket. Source: sock_diag(7).
func askSockets(request []byte, each func(body []byte) error) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return fmt.Errorf("ask for sockets: %w", err)
	}
	defer unix.Close(fd)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2})
	order := binary.NativeEndian
	header := make([]byte, nlHeader, nlHeader+len(request))
	order.PutUint32(header[0:], uint32(nlHeader+len(request)))
	order.PutUint16(header[4:], sockDiagByFamily)
	order.PutUint16(header[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	to := &unix.SockaddrNetlink{Family: unix.AF_NETLINK}
	if err := unix.Sendto(fd, append(header, request...), 0, to); err != nil {
		return fmt.Errorf("ask for sockets: %w", err)
	}
	buf := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("ask for sockets: %w", err)
		}
		more, err := readSockets(buf[:n], each)
		if err != nil || !more {
			return err
		}
	}
}

// readSockets reads one datagram of the answer. more is false behind the last.
func readSockets(b []byte, each func(body []byte) error) (more bool, err error) {
	order := binary.NativeEndian
	if len(b) == 0 {
		return false, errors.New("ask for sockets: empty answer")
	}
	for len(b) >= nlHeader {
		size := int(order.Uint32(b))
		if size < nlHeader || size > len(b) {
			return false, errors.New("ask for sockets: a message is cut short")
		}
		body := b[nlHeader:size]
		switch order.Uint16(b[4:]) {
		case unix.NLMSG_DONE:
			return false, nil
		case unix.NLMSG_ERROR:
			if len(body) >= 4 {
				return false, os.NewSyscallError("sock_diag", unix.Errno(-int32(order.Uint32(body))))
			}
			return false, errors.New("ask for sockets: refused")
		case sockDiagByFamily:
			if err := each(body); err != nil {
				return false, err
			}
		}
		b = b[min(len(b), (size+3)&^3):]
	}
	return true, nil
}

// parseUnixSocket reads struct unix_diag_msg with its attributes. It is nil if b is too short.
func parseUnixSocket(b []byte) *unixSocket {
	if len(b) < diagMessage {
		return nil
	}
	order := binary.NativeEndian
	s := &unixSocket{kind: b[1], listens: b[2] == stateListen, inode: order.Uint32(b[4:])}
	for b = b[diagMessage:]; len(b) >= 4; {
		size, kind := int(order.Uint16(b)), order.Uint16(b[2:])
		if size < 4 || size > len(b) {
			break
		}
		value := b[4:size]
		switch {
		case kind == unixDiagName && len(value) > 0:
			s.name = socketName(value)
		case kind == unixDiagPeer && len(value) >= 4:
			s.peer = order.Uint32(value)
		case kind == unixDiagIcons:
			for ; len(value) >= 4; value = value[4:] {
				s.waiting = append(s.waiting, order.Uint32(value))
			}
		case kind == unixDiagRqlen && len(value) >= 4:
			s.unread = order.Uint32(value)
		}
		b = b[min(len(b), (size+3)&^3):]
	}
	return s
}

// socketName is the address of a unix socket, as /proc/net/unix writes it. Source: unix(7), "Address format".
func socketName(b []byte) string {
	if b[0] == 0 {
		return "@" + string(b[1:])
	}
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

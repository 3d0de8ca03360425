//go:build linux

package tracer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

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

var errTooManySockets = errors.New("there are too many unix sockets")

// unixSockets asks the kernel for all unix sockets of a network namespace, by inode: that of process pid, ours if it is
// the same. To enter another takes CAP_SYS_ADMIN.
func unixSockets(root string, pid int, own bool) (map[uint32]*unixSocket, error) {
	if own {
		return dumpUnix()
	}
	type result struct {
		all map[uint32]*unixSocket
		err error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine, in the other namespace
		var r result
		fault := guard(func() {
			var ns int
			if ns, r.err = openAt(unix.AT_FDCWD, root+"/"+strconv.Itoa(pid)+"/ns/net", unix.O_RDONLY); r.err != nil {
				return
			}
			r.err = unix.Setns(ns, unix.CLONE_NEWNET)
			unix.Close(ns)
			if r.err == nil {
				r.all, r.err = dumpUnix()
			}
		})
		if fault != nil {
			r.err = fault
		}
		done <- r
	}()
	r := <-done
	return r.all, r.err
}

// dumpUnix makes the dialogue in the network namespace of the calling thread.
func dumpUnix() (map[uint32]*unixSocket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("ask for unix sockets: %w", err)
	}
	defer unix.Close(fd)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2})
	request := make([]byte, nlHeader+24)
	order := binary.NativeEndian
	order.PutUint32(request[0:], uint32(len(request)))
	order.PutUint16(request[4:], sockDiagByFamily)
	order.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	request[nlHeader] = unix.AF_UNIX
	order.PutUint32(request[nlHeader+4:], ^uint32(0)) // all states
	order.PutUint32(request[nlHeader+12:], unixShowName|unixShowPeer|unixShowIcons|unixShowRqlen)
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, fmt.Errorf("ask for unix sockets: %w", err)
	}
	all := map[uint32]*unixSocket{}
	buf := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return all, fmt.Errorf("ask for unix sockets: %w", err)
		}
		more, err := parseUnixDiag(buf[:n], all)
		if err != nil || !more {
			return all, err
		}
	}
}

// parseUnixDiag reads one datagram of the answer into all. more is false behind the last.
func parseUnixDiag(b []byte, all map[uint32]*unixSocket) (more bool, err error) {
	order := binary.NativeEndian
	if len(b) == 0 {
		return false, errors.New("ask for unix sockets: empty answer")
	}
	for len(b) >= nlHeader {
		size := int(order.Uint32(b))
		if size < nlHeader || size > len(b) {
			return false, errors.New("ask for unix sockets: a message is cut short")
		}
		body := b[nlHeader:size]
		switch order.Uint16(b[4:]) {
		case unix.NLMSG_DONE:
			return false, nil
		case unix.NLMSG_ERROR:
			if len(body) >= 4 {
				return false, os.NewSyscallError("sock_diag", unix.Errno(-int32(order.Uint32(body))))
			}
			return false, errors.New("ask for unix sockets: refused")
		case sockDiagByFamily:
			if len(all) >= maxUnixSockets {
				return false, errTooManySockets
			}
			if s := parseUnixSocket(body); s != nil {
				all[s.inode] = s
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

//go:build linux

package live

import (
	"encoding/binary"
	"fmt"

	"github.com/fpstack/fpstack/procfs/procfile"
	"golang.org/x/sys/unix"
)

// Parts of what is said of a TCP socket. Source: linux/inet_diag.h (struct inet_diag_msg, INET_DIAG_INFO) and
// linux/tcp.h (struct tcp_info).
const (
	inetMessage   = 72
	inetInode     = 68
	inetDiagInfo  = 2
	bytesAcked    = 120
	bytesReceived = 128
)

// TCPBytes is, by the inode of each TCP socket in the network namespace of process pid, how many bytes came in and how
// many were acknowledged by the other end. It takes no permission but to enter another namespace.
func TCPBytes(pid int) (map[uint64]uint64, error) {
	ns := procfile.Namespace(fmt.Sprintf("/proc/%d/ns/net", pid))
	own := ns == 0 || ns == procfile.Namespace("/proc/self/ns/net") // of another user's process it is not shown
	all := map[uint64]uint64{}
	err := inNetwork("/proc", pid, own, func() error {
		for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
			err := askTCP(family, ^uint32(0), 1<<(inetDiagInfo-1), func(body []byte) error {
				if len(all) >= maxUnixSockets {
					return errTooManySockets
				}
				if inode, n, ok := parseTCPBytes(body); ok {
					all[inode] = n
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// askTCP has each be called with what is said of a TCP socket in one of some states, a bit each, with the attributes
// that are asked for.
func askTCP(family byte, states uint32, attributes byte, each func(body []byte) error) error {
	request := make([]byte, 56) // struct inet_diag_req_v2
	request[0], request[1], request[2] = family, unix.IPPROTO_TCP, attributes
	binary.NativeEndian.PutUint32(request[4:], states)
	return askSockets(request, each)
}

// parseTCPBytes reads struct inet_diag_msg with its attributes. It is false for a socket that nobody has open, and
// where the kernel does not count.
func parseTCPBytes(b []byte) (inode, n uint64, ok bool) {
	if len(b) < inetMessage {
		return 0, 0, false
	}
	order := binary.NativeEndian
	inode = uint64(order.Uint32(b[inetInode:]))
	for b = b[inetMessage:]; len(b) >= 4; {
		size, kind := int(order.Uint16(b)), order.Uint16(b[2:])
		if size < 4 || size > len(b) {
			break
		}
		if info := b[4:size]; kind == inetDiagInfo && len(info) >= bytesReceived+8 {
			return inode, order.Uint64(info[bytesAcked:]) + order.Uint64(info[bytesReceived:]), inode != 0
		}
		b = b[min(len(b), (size+3)&^3):]
	}
	return 0, 0, false
}

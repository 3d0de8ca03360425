//go:build linux

package live

import (
	"encoding/binary"
	"net/netip"

	"github.com/fpstack/fpstack/procfs"
	"golang.org/x/sys/unix"
)

// Parts of struct inet_diag_msg, behind family and state. Source: linux/inet_diag.h.
const (
	inetSourcePort = 4 // in network order, as the address
	inetSource     = 8
	inetUnread     = 56
)

// listeners asks for the TCP sockets that listen in the network namespace of the calling thread, by inode. They are in
// a table of their own, which is small. It is nil where the kernel does not tell all of them.
func listeners() map[uint64]*inet {
	all := map[uint64]*inet{}
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		err := askTCP(family, 1<<stateListen, 0, func(body []byte) error {
			if len(all) >= maxUnixSockets {
				return errTooManySockets
			}
			if e := parseListener(body); e != nil {
				all[e.Inode] = e
			}
			return nil
		})
		if err != nil {
			return nil
		}
	}
	return all
}

// parseListener reads struct inet_diag_msg of a socket that listens. It is nil for any other, and for one that nobody
// has open.
func parseListener(b []byte) *inet {
	if len(b) < inetMessage || b[1] != stateListen {
		return nil
	}
	addr, table := netip.AddrFrom16([16]byte(b[inetSource:])), "tcp6"
	switch b[0] {
	case unix.AF_INET:
		addr, table = netip.AddrFrom4([4]byte(b[inetSource:])), "tcp"
	case unix.AF_INET6:
	default:
		return nil
	}
	order := binary.NativeEndian
	s := procfs.Inet{Inode: uint64(order.Uint32(b[inetInode:])), State: "LISTEN", Unread: order.Uint32(b[inetUnread:]),
		Local:  netip.AddrPortFrom(addr, binary.BigEndian.Uint16(b[inetSourcePort:])),
		Remote: netip.AddrPortFrom(netip.IPv6Unspecified(), 0)}
	if table == "tcp" {
		s.Remote = netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	}
	if s.Inode == 0 {
		return nil
	}
	return &inet{s, table}
}

package procfs

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"
)

// tcpStates are the states of linux/include/net/tcp_states.h, from 1.
var tcpStates = []string{"", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT",
	"CLOSE", "CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING", "NEW_SYN_RECV"}

// Inet is a socket of the internet families: a line of /proc/PID/net/{tcp,tcp6,udp,udp6}.
type Inet struct {
	Inode         uint64 // 0: it has no descriptor, not yet or no more
	Local, Remote netip.AddrPort
	State         string // of TCP, as "ESTABLISHED"; "" if it has none that is known
	// Unsent and Unread are the bytes that the other side has not acknowledged and those that no read has taken; of a
	// socket that listens Unread is how many connections wait to be accepted.
	Unsent, Unread uint32
}

// ParseInetSocket reads one line of the table. It is false for the line of titles.
// Source: proc_pid_net(5), linux/Documentation/networking/proc_net_tcp.rst.
func ParseInetSocket(table, line string) (s Inet, ok bool) {
	f := strings.Fields(line)
	if len(f) < 10 {
		return Inet{}, false
	}
	var ok1, ok2 bool
	s.Local, ok1 = parseAddrPort(f[1])
	s.Remote, ok2 = parseAddrPort(f[2])
	state, err1 := strconv.ParseUint(f[3], 16, 8)
	inode, err2 := strconv.ParseUint(f[9], 10, 64)
	if !ok1 || !ok2 || err1 != nil || err2 != nil {
		return Inet{}, false
	}
	s.Inode = inode
	if strings.HasPrefix(table, "tcp") && int(state) < len(tcpStates) {
		s.State = tcpStates[state]
	}
	unsent, unread, _ := strings.Cut(f[4], ":")
	n, _ := strconv.ParseUint(unsent, 16, 32)
	s.Unsent = uint32(n)
	n, _ = strconv.ParseUint(unread, 16, 32)
	s.Unread = uint32(n)
	return s, true
}

// parseAddrPort reads "0100007F:1F90": the address is words of 32 bits in the byte order of
// the machine, the port a number.
func parseAddrPort(s string) (netip.AddrPort, bool) {
	digits, portText, ok := strings.Cut(s, ":")
	port, err := strconv.ParseUint(portText, 16, 16)
	words, err2 := hex.DecodeString(digits)
	if !ok || err != nil || err2 != nil || len(words)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(words); i += 4 {
		// %08X of the word in memory: its digits are those of the number, highest first.
		binary.NativeEndian.PutUint32(words[i:], binary.BigEndian.Uint32(words[i:]))
	}
	addr, ok := netip.AddrFromSlice(words)
	return netip.AddrPortFrom(addr, uint16(port)), ok
}

// SocketInode takes the number out of "socket:[123]".
func SocketInode(name string) (uint64, bool) { return inodeOf(name, "socket:[") }

// PipeInode takes the number out of "pipe:[123]".
func PipeInode(name string) (uint64, bool) { return inodeOf(name, "pipe:[") }

func inodeOf(name, before string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, before)
	if !ok {
		return 0, false
	}
	digits, ok = strings.CutSuffix(digits, "]")
	n, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil {
		return 0, false
	}
	return n, true
}

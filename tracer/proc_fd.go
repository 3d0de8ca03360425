//go:build linux

package tracer

import (
	"strconv"
	"strings"
)

// maxDescribed bounds how many descriptors are described.
const maxDescribed = 64 << 10

// DescribeFDs says what each of the descriptors fds of the process is, as it is now: a
// path, "pipe:[123]", "anon_inode:[eventpoll]", "tcp 10.0.0.1:80 -> 10.0.0.2:4242
// ESTABLISHED". Names are as the kernel gives them and may hold any bytes. A descriptor
// that is not open, or may not be looked at, is not in the result.
func (p *Process) DescribeFDs(fds []int) map[int]string {
	out := make(map[int]string, len(fds))
	sockets := map[uint64][]int{}
	for _, fd := range fds[:min(len(fds), maxDescribed)] {
		if fd < 0 {
			continue
		}
		name, err := readLinkAt(p.dir, "fd/"+strconv.Itoa(fd))
		if err != nil {
			continue
		}
		out[fd] = name
		if inode, ok := socketInode(name); ok {
			sockets[inode] = append(sockets[inode], fd)
		}
	}
	if len(sockets) > 0 {
		p.describeSockets(sockets, out)
	}
	return out
}

// socketInode takes the number out of "socket:[123]".
func socketInode(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, "socket:[")
	if !ok {
		return 0, false
	}
	digits, ok = strings.CutSuffix(digits, "]")
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, ok && err == nil
}

// describeSockets replaces the names of sockets that the tables of the network name space
// of the process know. It reads no further table than it needs.
func (p *Process) describeSockets(sockets map[uint64][]int, out map[int]string) {
	left := len(sockets)
	for _, table := range []string{"tcp", "unix", "tcp6", "udp", "udp6"} {
		b, err := readAt(p.dir, "net/"+table, make([]byte, 0, 16<<10), maxSocketTable)
		if err != nil && len(b) == 0 {
			continue
		}
		parse := parseInet
		if table == "unix" {
			parse = parseUnix
		}
		for line := range strings.Lines(string(b)) {
			inode, text, ok := parse(table, strings.TrimSuffix(line, "\n"))
			if !ok || sockets[inode] == nil {
				continue
			}
			for _, fd := range sockets[inode] {
				out[fd] = text
			}
			if left--; left == 0 {
				return
			}
		}
	}
}

//go:build linux

package tracer

import (
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/procfs"
)

// maxDescribed bounds how many descriptors are described.
const maxDescribed = 64 << 10

// maxSocketTable bounds what is read of one table of sockets: some hundred thousand lines.
const maxSocketTable = 64 << 20

// DescribeFDs says what each of the descriptors fds of the process is, as it is now: a
// path, "pipe:[123]", "anon_inode:[eventpoll]", "tcp 10.0.0.1:80 -> 10.0.0.2:4242
// ESTABLISHED". Names are as the kernel gives them and may hold any bytes. A descriptor
// that is not open, or may not be inspected, is not in the result.
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
		if inode, ok := procfs.SocketInode(name); ok {
			sockets[inode] = append(sockets[inode], fd)
		}
	}
	if len(sockets) > 0 {
		p.describeSockets(sockets, out)
	}
	return out
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
		parse := procfs.ParseInet
		if table == "unix" {
			parse = procfs.ParseUnix
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

//go:build linux

package live

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/waits"
	"golang.org/x/sys/unix"
)

// maxSocketTable bounds what is read of one table of sockets, and of file locks: some hundred thousand lines.
const maxSocketTable = 64 << 20

// netTables is what is known of the sockets of one network namespace.
type netTables struct {
	unix      map[uint32]*unixSocket
	unixErr   error
	accepts   map[uint32]uint32 // by a socket that was not accepted yet, who listens
	listening map[uint64]*inet  // of TCP; nil where the kernel does not say it

	folder  string // of the files that fill reads, "" when it has
	inet    map[uint64]*inet
	pairs   map[pair]*inet // of TCP
	listens map[netip.AddrPort]*inet
}

// inet is a socket with the table it was in.
type inet struct {
	procfs.Inet
	table string
}

// pair is the two ends of a connection, as one of them has them.
type pair struct{ local, remote netip.AddrPort }

// plain takes the IPv4 address out of one that is mapped to IPv6: one end of a connection may have it so, and the other
// not.
func plain(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// tables asks for the sockets of the network namespace that process pid is in; fill has those of the internet families.
func (w *waitFiles) tables(pid int) *netTables {
	ns := procfile.Namespace(fmt.Sprintf("%s/%d/ns/net", w.root, pid))
	if t := w.sockets[ns]; t != nil && ns != 0 {
		return t
	}
	t := &netTables{folder: fmt.Sprintf("%s/%d/net/", w.root, pid), accepts: map[uint32]uint32{},
		inet: map[uint64]*inet{}, pairs: map[pair]*inet{}, listens: map[netip.AddrPort]*inet{}}
	w.sockets[ns] = t
	own := ns != 0 && ns == procfile.Namespace(w.root+"/self/ns/net")
	t.unixErr = inNetwork(w.root, pid, own, func() (err error) {
		t.listening = listeners()
		t.unix, err = dumpUnix()
		return err
	})
	for _, s := range t.unix {
		for _, client := range s.waiting {
			t.accepts[client] = s.inode
		}
	}
	return t
}

// fill reads the tables of the internet families. That of TCP takes the kernel ten milliseconds, as it looks through
// each place where a connection may be.
func (t *netTables) fill() {
	if t.folder == "" {
		return
	}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		b, _ := procfile.Read(t.folder+table, maxSocketTable)
		for line := range strings.Lines(string(b)) {
			s, ok := procfs.ParseInetSocket(table, line)
			if !ok {
				continue
			}
			e := &inet{s, table}
			if s.Inode != 0 {
				t.inet[s.Inode] = e
			}
			switch {
			case s.State == "LISTEN":
				t.listens[plain(s.Local)] = e
			case s.State != "" && s.State != "TIME_WAIT":
				t.pairs[pair{plain(s.Local), plain(s.Remote)}] = e
			}
		}
	}
	t.folder = ""
}

// socket describes a socket of process pid, with its other end. It is nil for one that no table has.
func (w *waitFiles) socket(pid int, inode uint64) *waits.Endpoint {
	t := w.tables(pid)
	if u := t.unix[uint32(inode)]; u != nil && inode>>32 == 0 {
		return unixEndpoint(t, u)
	}
	if e := t.listening[inode]; e != nil {
		return w.inetEndpoint(t, e) // which has no other end
	}
	t.fill()
	if e := t.inet[inode]; e != nil {
		return w.inetEndpoint(t, e)
	}
	if t.unixErr != nil {
		return &waits.Endpoint{Inode: inode, PeerErr: "its other end is not seen: " + refusedNamespace(t.unixErr)}
	}
	return nil
}

func refusedNamespace(err error) string {
	if errors.Is(err, os.ErrPermission) {
		return "it is in another network namespace, and to enter that takes CAP_SYS_ADMIN"
	}
	return err.Error()
}

// unixEndpoint describes a unix socket.
func unixEndpoint(t *netTables, u *unixSocket) *waits.Endpoint {
	kind := map[byte]string{unix.SOCK_STREAM: " stream", unix.SOCK_DGRAM: " dgram", unix.SOCK_SEQPACKET: " seqpacket"}
	out := &waits.Endpoint{Family: "unix" + kind[u.kind], Inode: uint64(u.inode), Listening: u.listens,
		Address: u.name, Unread: u.unread}
	name := u.name
	if peer := t.unix[u.peer]; peer != nil && name == "" {
		name = peer.name
	}
	if peer := t.unix[u.peer]; peer != nil {
		out.PeerAddress, out.Made = peer.name, peer.name != "" && u.name == ""
	}
	switch peer := t.unix[u.peer]; {
	case u.listens:
	case peer != nil:
		out.Peer, out.PeerUnread = uint64(u.peer), peer.unread
	case u.peer != 0:
		out.PeerErr = "its other end is in another network namespace"
	case t.accepts[u.inode] != 0:
		out.Accepts = uint64(t.accepts[u.inode])
		if l := t.unix[t.accepts[u.inode]]; l != nil && l.name != "" {
			name, out.PeerAddress, out.Made = "to "+l.name, l.name, true
		}
	}
	if name == "" {
		name = fmt.Sprintf("socket:[%d]", u.inode)
	}
	out.Text = out.Family + " " + name
	if u.listens {
		out.Text += " LISTEN"
	}
	return out
}

// inetEndpoint describes a socket of TCP or UDP.
func (w *waitFiles) inetEndpoint(t *netTables, e *inet) *waits.Endpoint {
	out := &waits.Endpoint{Family: e.table, Inode: e.Inode, State: e.State, Listening: e.State == "LISTEN",
		Address: e.Local.String(), Unread: e.Unread}
	out.Text = e.table + " " + e.Local.String()
	if e.Remote.Port() != 0 {
		out.PeerAddress = plain(e.Remote).String()
		out.Text += " -> " + e.Remote.String()
	}
	if e.State != "" {
		out.Text += " " + e.State
	}
	if out.Listening || e.Remote.Port() == 0 {
		return out
	}
	mirror := pair{plain(e.Remote), plain(e.Local)}
	peer, where := t.pairs[mirror], t
	if peer == nil && !e.Remote.Addr().IsLoopback() {
		peer, where = w.elsewhere(mirror)
	}
	// Who listens at both ends' ports, or at none any more, is told by the port: those above are given out.
	out.Made = t.listener(plain(e.Local)) == nil && (peer == nil || where.listener(plain(e.Remote)) != nil ||
		e.Local.Port() >= firstEphemeral && e.Remote.Port() < firstEphemeral)
	switch {
	case peer == nil && e.Remote.Addr().Unmap().IsLoopback():
		out.PeerErr = "its other end on this machine was not found"
	case peer == nil:
		out.Remote = e.Remote.String()
	case peer.Inode != 0:
		out.Peer, out.PeerUnread = peer.Inode, peer.Unread
	default: // not accepted yet
		if l := where.listener(plain(peer.Local)); l != nil {
			out.Accepts, out.PeerUnread = l.Inode, peer.Unread
		} else {
			out.PeerErr = "its other end has been closed"
		}
	}
	return out
}

// listener is who listens at an address, or at its port on all.
func (t *netTables) listener(at netip.AddrPort) *inet {
	for _, a := range []netip.Addr{at.Addr(), netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		if l := t.listens[netip.AddrPortFrom(a, at.Port())]; l != nil {
			return l
		}
	}
	return nil
}

// firstEphemeral is the first port that the kernel gives to who connects, as it is set mostly. Source: ip(7),
// ip_local_port_range.
const firstEphemeral = 32768

// maxNamespaces bounds the network namespaces that are searched for the other end of a connection.
const maxNamespaces = 64

// elsewhere finds the end of a connection in the other network namespaces of this machine.
func (w *waitFiles) elsewhere(mirror pair) (*inet, *netTables) {
	if !w.everywhere {
		w.everywhere = true
		for _, pid := range w.pids() {
			if len(w.sockets) > maxNamespaces {
				break
			}
			if ns := procfile.Namespace(fmt.Sprintf("%s/%d/ns/net", w.root, pid)); ns != 0 && w.sockets[ns] == nil {
				w.tables(pid)
			}
		}
	}
	for _, t := range w.sockets {
		t.fill()
		if e := t.pairs[mirror]; e != nil {
			return e, t
		}
	}
	return nil, nil
}

// pids lists all processes.
func (w *waitFiles) pids() []int {
	fd, err := procfile.Open(unix.AT_FDCWD, w.root, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	d := procfile.List{FD: fd}
	d.Reserve(4096)
	pids, _ := d.IDs(nil)
	return pids
}

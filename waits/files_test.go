package waits

import (
	"context"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
)

// served answers what is asked of files by what a test or a fuzzer gives.
type served struct {
	*drawn
	text  []string // what descriptors are
	bytes []byte
}

func (d *served) byte(i int) byte {
	if len(d.bytes) == 0 {
		return 0
	}
	return d.bytes[i%len(d.bytes)]
}

func (d *served) fd(key FDKey) *FD {
	text := d.text[max(key.FD, -key.FD)%len(d.text)]
	out := &FD{Link: text, Type: Type(d.byte(key.FD&0xff) % 8), Read: d.byte(1)&1 != 0, Write: d.byte(2)&1 != 0,
		Inode: uint64(d.byte(3)), Info: procfs.ParseFDInfo([]byte(text))}
	if d.byte(4)&1 != 0 {
		out.Socket = &Endpoint{Family: "tcp", Inode: 7, Text: text, Listening: d.byte(5)&1 != 0,
			Peer: uint64(d.byte(6)), Accepts: uint64(d.byte(7)) & 1}
	}
	if mounts := procfs.ParseMounts([]byte(text)); len(mounts) > 0 {
		out.Mount = &mounts[0]
	}
	return out
}

func (d *served) Read(ctx context.Context, f *Facts, n Need) error {
	files := &f.Files
	if files.FDs == nil {
		*files = Files{FDs: map[FDKey]*FD{}, Holders: map[string][]Holder{}, Children: map[int][]ChildProcess{},
			Mounts: map[int][]procfs.Mount{}, States: map[int]ProcessState{}}
	}
	for _, key := range n.Files.FDs {
		files.FDs[key] = d.fd(key)
	}
	for i, link := range n.Files.Links {
		info := procfs.ParseFDInfo([]byte(d.text[i%len(d.text)]))
		files.Holders[link] = []Holder{{PID: 100, FD: 3, Read: true, Info: &info},
			{PID: int(d.byte(i)) + 90, FD: 4, Write: true, Info: &info}}
	}
	for i, pid := range n.Files.Children {
		files.Children[pid] = []ChildProcess{{PID: int(d.byte(i)) + 90, State: 'S', Group: 100, Comm: d.text[0]},
			{PID: 100, State: 'Z', Comm: d.text[0]}}
	}
	for _, pid := range n.Files.Mounts {
		files.Mounts[pid] = procfs.ParseMounts([]byte(d.text[0]))
	}
	for i, pid := range n.Files.States {
		files.States[pid] = ProcessState{Tracer: int(d.byte(i)), TracerComm: d.text[0], Frozen: d.text[0], Terminal: -1}
	}
	if n.Files.Locks {
		files.HasLocks, files.Locks = true, procfs.ParseFileLocks([]byte(strings.Join(d.text, "\n")))
	}
	return d.drawn.Read(ctx, f, n)
}

// inCall is a thread that is blocked in a system call.
func inCall(tid int, number int64, wchan string, args ...uint64) *Thread {
	t := futexThread(tid, 0, 0, 0)
	t.First.Call.Number, t.Wchan = number, wchan
	t.First.Call.Args = [6]uint64{}
	copy(t.First.Call.Args[:], args)
	return t
}

// TestServedFromElsewhere: a read from a file system of another machine names the server.
func TestServedFromElsewhere(t *testing.T) {
	d := &served{drawn: draw(inCall(100, 0, "rpc_wait_bit_killable", 3, heap, 10)),
		text: []string{`36 35 0:52 / /mnt\040x rw - nfs4 files:/export rw`}}
	g, err := Examine(context.Background(), d, d.facts)
	if err != nil {
		t.Fatal(err)
	}
	const want = "waits for an answer of an NFS server ("
	got := g.Words(g.Of(100))
	const end = "mounted at /mnt x from files:/export); it is another machine"
	if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, end) {
		t.Errorf("it %q, want %q…", got, want)
	}
}

// TestRingInASet: an io_uring is the same thing to wait for in a set of epoll as in a call of its own.
func TestRingInASet(t *testing.T) {
	const poll = 6 // IORING_OP_POLL_ADD
	fd := &FD{Link: ioUring, Info: procfs.FDInfo{Ring: &procfs.Ring{Pending: []int{poll}}}}
	var w Wait
	new(study).onAnonymous(&Process{}, fd, true, &w)
	if w.Object.Kind != kindIoUring || !strings.Contains(w.Object.Name, ringOperation(poll)) {
		t.Errorf("got %+v", w.Object)
	}
}

// FuzzCalls: no call, no memory and no file of /proc makes it panic, or ask without end.
func FuzzCalls(f *testing.F) {
	for _, number := range []uint16{0, 1, 7, 23, 61, 65, 72, 73, 202, 232, 233, 242, 243, 247, 257, 270, 271, 281, 288,
		426} {
		memory := []byte("\x03\x00\x00\x00\x01\x00\x00\x00\x04\x00")
		f.Add(number, uint64(3), uint64(heap), uint64(2), memory, "pipe:[12]")
	}
	f.Add(uint16(7), uint64(heap), uint64(300), uint64(0), []byte{9}, "anon_inode:[eventfd]")
	f.Add(uint16(232), uint64(4), uint64(heap), uint64(2), []byte{5}, "tfd:        5 events:       19 data: 5 ino:9")
	f.Add(uint16(72), uint64(4), uint64(38), uint64(heap), []byte{1}, "1: POSIX  ADVISORY  WRITE 101 08:01:9 0 EOF")
	f.Fuzz(func(t *testing.T, number uint16, a, b, c uint64, memory []byte, text string) {
		for _, arch := range []string{"amd64", "386", "arm64"} {
			for _, wchan := range []string{"", "request_wait_answer", "rpc_wait_bit_killable", "do_freezer_trap"} {
				d := &served{drawn: draw(inCall(100, int64(number), wchan, a, b, c, b, c, a),
					inCall(101, int64(number), "", b, c, a)), text: []string{text, "pipe:[12]", "socket:[7]", "/f"},
					bytes: memory}
				p := d.facts.Process(100)
				if p.Arch = arch; arch == "386" {
					p.Word = 4
				}
				p.Threads[1].State = "SDTtZ"[len(memory)%5]
				for i, x := range memory {
					d.memory[heap+mem.Addr(i)] = x
				}
				g, err := Examine(context.Background(), d, d.facts)
				if err != nil || d.reads > maxRounds {
					t.Fatalf("%d rounds, %v", d.reads, err)
				}
				for i := range g.Waits {
					words := g.Words(&g.Waits[i])
					if words == "" || strings.Contains(words, "%!") && !strings.Contains(text, "%") {
						t.Errorf("words %q", words)
					}
				}
				g.Show()
			}
		}
	})
}

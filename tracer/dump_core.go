//go:build linux

package tracer

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/snapshot/corefile"
	"github.com/fpstack/fpstack/tracer/ptrace"
	"golang.org/x/sys/unix"
)

// CoreWriter writes the core of a process all of whose threads are stopped. It runs on another OS thread than the one
// that stops, and is given up when its time is over or the context of the stop has ended: it must not touch what others
// read before it has returned. Neither p nor m is to be kept.
type CoreWriter func(p *corefile.Process, m corefile.Memory)

const (
	// defaultCoreTime is how long a CoreWriter may hold the threads where nothing else is said.
	defaultCoreTime = 10 * time.Second
	// coreGrace is how much longer it has when its context has ended, to notice that.
	coreGrace = 100 * time.Millisecond
)

// core gives the stopped threads to the CoreWriter.
func (s *stop) core() {
	p := s.coreProcess()
	if len(p.Threads) == 0 {
		return
	}
	if n := s.notStopped(); n > 0 {
		s.problem(fmt.Sprintf("%d threads had not stopped when the core was written: it lacks them", n))
	}
	bound := s.opt.CoreTime
	if bound <= 0 {
		bound = defaultCoreTime
	}
	write := func() {
		s.p.describeCore(p)
		s.opt.Core(p, &coreMemory{memory: s.memory})
	}
	switch err := s.copier.doUntil(write, bound, s.ctx.Done()); {
	case errors.Is(err, errNotInTime):
		s.problem("the core was not written in time")
	case err != nil:
		s.problem(err.Error())
	}
}

// notStopped counts the threads that run while the others are stopped.
func (s *stop) notStopped() (n int) {
	for i := range s.threads {
		if s.threads[i].phase == running {
			n++
		}
	}
	return n
}

// coreProcess reads the register sets of all stopped threads; the first thread of the process comes first.
func (s *stop) coreProcess() *corefile.Process {
	p := &corefile.Process{PageSize: uint64(kernelPage), PID: s.p.pid}
	buf := make([]byte, 16<<10)
	for i := range s.threads {
		t := &s.threads[i]
		if t.phase != stopped || t.regs.Arch == nil || p.Arch != nil && t.regs.Arch != p.Arch {
			continue // a process with threads of two word sizes does not exist
		}
		p.Arch = t.regs.Arch
		one := corefile.Thread{TID: t.tid}
		one.SP, _ = t.regs.SP()
		if one.General = registerSet(t.tid, ptrace.NotePRStatus, &buf); one.General == nil {
			continue
		}
		for _, typ := range corefile.Sets(p.Arch) {
			if data := registerSet(t.tid, uintptr(typ.Type), &buf); data != nil {
				one.Sets = append(one.Sets, corefile.Set{SetType: typ, Data: data})
			}
		}
		if t.tid == s.p.pid {
			p.State = t.state
		}
		p.Threads = append(p.Threads, one)
	}
	slices.SortFunc(p.Threads, func(a, b corefile.Thread) int {
		switch s.p.pid {
		case a.TID:
			return -1
		case b.TID:
			return 1
		}
		return cmp.Compare(a.TID, b.TID)
	})
	return p
}

// mostRegisters bounds a register set: the vectors of arm64 take some 8 KiB, those of SME 64 KiB.
const mostRegisters = 256 << 10

// registerSet reads a register set of a stopped thread by way of buf, which grows; nil where there is none.
func registerSet(tid int, typ uintptr, buf *[]byte) []byte {
	for {
		n, errno := ptrace.GetRegset(tid, typ, *buf)
		if errno != 0 || n == 0 {
			return nil
		}
		if n < len(*buf) {
			return bytes.Clone((*buf)[:n])
		}
		if len(*buf) >= mostRegisters {
			return nil
		}
		*buf = make([]byte, 4*len(*buf))
	}
}

// describeCore fills in what /proc shows of the stopped process.
func (p *Process) describeCore(c *corefile.Process) {
	if b, err := procfile.At(p.dir, "stat", nil, 4096); err == nil {
		if st, err := procfs.ParseStat(b); err == nil {
			c.Comm, c.Parent, c.Group, c.Session, c.Flags = st.Comm, st.Parent, st.Group, st.Session, st.Flags
		}
	}
	if b, err := procfile.At(p.dir, "cmdline", nil, 4096); err == nil {
		c.Args = string(bytes.TrimRight(bytes.ReplaceAll(b, []byte{0}, []byte(" ")), " "))
	}
	c.Auxv, _ = procfile.At(p.dir, "auxv", nil, 64<<10)
	filter, _ := procfile.At(p.dir, "coredump_filter", nil, 64)
	c.Filter = corefile.ParseFilter(filter)
	procfile.InTurns(len(c.Threads), func(i int, r *procfile.Task) {
		t := &c.Threads[i]
		b, err := p.ReadTask(r, t.TID, "status")
		if err != nil {
			return
		}
		if st, err := procfs.ParseStatus(b); err == nil {
			t.Pending, t.Blocked = st.Pending, st.Blocked
			if t.TID == c.Threads[0].TID && st.UIDs[0] >= 0 && st.GIDs[0] >= 0 {
				c.UID, c.GID = uint32(st.UIDs[0]), uint32(st.GIDs[0])
			}
		}
	})
	c.Mappings = p.usage()
}

// usage is the mappings with what of them is in memory; without that where it may not be read.
func (p *Process) usage() []maps.Usage {
	const most = 4 << 30 // bytes of text: some 700 a mapping
	fd, err := procfile.Open(p.dir, "task/"+strconv.Itoa(p.memory.Load().tid)+"/smaps", unix.O_RDONLY)
	if err == nil {
		f := os.NewFile(uintptr(fd), "smaps")
		defer f.Close()
		if all, err := maps.ParseUsage(io.LimitReader(f, most)); err == nil && len(all) > 0 {
			return all
		}
	}
	table, err := p.Maps()
	if err != nil {
		return nil
	}
	var all []maps.Usage
	for _, m := range table.All() {
		all = append(all, maps.Usage{Mapping: m})
	}
	return all
}

// coreMemory is the memory of a stopped process as a core is written of it.
type coreMemory struct {
	*memory
	entries [32 << 10]byte // of pagemap
}

// ReadMem implements [mem.Reader].
func (m *coreMemory) ReadMem(b []byte, addr mem.Addr) (int, error) { return m.read(b, addr) }

// Held implements [corefile.Memory]. A page that is neither in memory nor in swap was never touched; guard pages, which
// nobody may touch, look like such in swap.
//
// Source: linux/Documentation/admin-guide/mm/pagemap.rst, bits 63, 62 and, since Linux 6.15, 58.
func (m *coreMemory) Held(from, end mem.Addr) (start, stop mem.Addr) {
	m.openPages()
	if m.pages < 0 {
		return from, end
	}
	for at := from; at < end; {
		n := min(int((end-at+kernelPage-1)/kernelPage), len(m.entries)/8)
		got, err := rawPread(m.pages, m.entries[:8*n], uint64(at/kernelPage)*8)
		if err != nil || got < 8 {
			return at, end // not known: each page is read
		}
		for i := range got / 8 {
			if !held(m.entries[8*i:]) {
				continue
			}
			last := i + 1
			for last < got/8 && held(m.entries[8*last:]) {
				last++
			}
			return at + mem.Addr(i)*kernelPage, at + mem.Addr(last)*kernelPage
		}
		at += mem.Addr(got/8) * kernelPage
	}
	return end, end
}

// held reports whether an entry of pagemap is that of a page that holds something.
func held(entry []byte) bool {
	const guard = 1 << 58
	v := binary.NativeEndian.Uint64(entry)
	return v>>62 != 0 && v&guard == 0
}

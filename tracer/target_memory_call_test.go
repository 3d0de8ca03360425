//go:build linux

package tracer

import (
	"bytes"
	"errors"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs/procfile"
)

// TestCallMemory: what the call reads is what the file gives, a hole is a hole, and after an exec it reads nothing any
// more, as the file does.
func TestCallMemory(t *testing.T) {
	cmd := exec.Command("sh", "-c", "echo; read x; exec sleep 600")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	p, err := Open(cmd.Process.Pid, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.FilesDenied() {
		t.Fatal("the files of our own child are denied")
	}
	call, err := openCallMemory(p.dir, cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer call.close()
	m := &memory{fd: -1, tid: cmd.Process.Pid, call: call}
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, mapping := range table.All() {
		if mapping.Perm&maps.Read == 0 || mapping.Path == "[vvar]" || mapping.Path == "[vvar_vclock]" ||
			mapping.Path == "[vsyscall]" {
			continue
		}
		want, got := make([]byte, pageSize), make([]byte, pageSize)
		if _, err := p.memory.Load().read(want, mapping.Start); err != nil {
			t.Fatal(err)
		}
		if n, err := m.read(got, mapping.Start); err != nil || n != len(got) || !bytes.Equal(got, want) {
			t.Errorf("%#x %s: %d bytes, %v, the same %v", uint64(mapping.Start), mapping.Path, n, err,
				bytes.Equal(got, want))
		}
		read++
	}
	for _, m := range []*memory{m, p.memory.Load()} {
		if _, err := m.read(make([]byte, 8), 0xe20000028a82d810); !errors.Is(err, mem.ErrUnmapped) {
			t.Errorf("where no process can have memory: %v", err)
		}
	}
	if read < 5 {
		t.Errorf("%d mappings were read", read)
	}
	if n, err := m.read(make([]byte, 16), pageSize); n != 0 || err == nil {
		t.Errorf("a hole: %d, %v", n, err)
	}
	start := table.All()[0].Start
	if m.replaced(start) {
		t.Error("replaced before the exec")
	}
	in.Write([]byte("\n"))
	for end := time.Now().Add(10 * time.Second); !p.memory.Load().replaced(start); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no exec")
		}
	}
	if n, err := m.quickRead(make([]byte, 16), start); !m.replaced(start) || n != 0 || err != nil {
		t.Errorf("after the exec: replaced %v, %d bytes, %v; want true, none", m.replaced(start), n, err)
	}
}

// TestCallMemoryThatDoesNotCome: a read that sleeps in the kernel is given up, no second one is begun, and a dump and
// a snapshot end and let go, with registers.
func TestCallMemoryThatDoesNotCome(t *testing.T) {
	c := start(t, "target", "fault", 3)
	p := openTarget(t, c.pid())
	call, err := openCallMemory(p.dir, c.pid())
	if err != nil {
		t.Fatal(err)
	}
	p.memory.Swap(&memory{fd: -1, tid: c.pid(), call: call}).close()
	begun := time.Now()
	s := takeSnapshot(t, p, StopOptions{})
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	for _, th := range s.Threads {
		if th.Registers == nil {
			t.Errorf("thread %d: no registers, %q", th.TID, th.NotStopped)
		}
		if st, err := procfile.Status("/proc/" + strconv.Itoa(th.TID) + "/status"); err != nil || st.TracerPid != 0 {
			t.Errorf("thread %d is held by %d, %v", th.TID, st.TracerPid, err)
		}
	}
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	begun = time.Now()
	for range 20 {
		for _, th := range s.Threads {
			sp, _ := th.Registers.SP()
			p.ReadMem(make([]byte, 64<<10), sp)
		}
	}
	if took := time.Since(begun); took > 3*time.Second || !call.lost.Load() || len(table.All()) == 0 {
		t.Errorf("reads took %v, lost %v", took, call.lost.Load())
	}
}

// TestReadWithoutErrand: a few bytes of a file that are in memory are read at once. Every read of a page that may not
// come is made by an errand of its own, which takes memory.
func TestReadWithoutErrand(t *testing.T) {
	c := start(t, "target", "sleep")
	waitState(t, c.pid(), 'S')
	p := openTarget(t, c.pid())
	s := takeSnapshot(t, p, StopOptions{})
	pc, _ := s.Threads[0].Registers.PC() // it has run there
	m := s.Maps.Find(pc)
	if m == nil || m.Inode == 0 || m.End-m.Start <= fewPages {
		t.Fatalf("%#x is in no file that is large", pc)
	}
	if p.memory.Load().resident(pc, 1) == 0 {
		t.Skip("what is in memory is not here to be seen: pagemap cannot be read")
	}
	read := func(b []byte, addr mem.Addr) (allocations float64) {
		return testing.AllocsPerRun(20, func() {
			if n, err := p.ReadMem(b, addr); n != len(b) || err != nil {
				t.Fatalf("read %d of %d bytes at %#x: %v", n, len(b), addr, err)
			}
		})
	}
	few, many := read(make([]byte, 16), pc), read(make([]byte, fewPages+1), m.Start)
	if few >= many { // the race detector makes some of both
		t.Errorf("16 bytes that are in memory take %v allocations, more than a few pages, by an errand, %v", few, many)
	}
}

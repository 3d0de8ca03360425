package still

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/waits"
)

// words is a memory of words of 32 bits; where none is drawn below limit it is 0.
type words struct {
	at    map[mem.Addr]uint32
	limit mem.Addr
	reads int
}

func (w *words) ReadMem(b []byte, addr mem.Addr) (int, error) {
	w.reads++
	if addr+mem.Addr(len(b)) > w.limit {
		return 0, errors.New("not in the core")
	}
	for i := 0; i < len(b); i += 4 {
		binary.LittleEndian.PutUint32(b[i:], w.at[addr+mem.Addr(i)])
	}
	return len(b), nil
}

const (
	futexCall = 202
	private   = 0x80 // FUTEX_WAIT_PRIVATE
	first     = 0x10000
	second    = 0x10040
)

// mutex draws one of glibc: lock, count, owner, users, kind.
func (w *words) mutex(at mem.Addr, owner uint32) {
	w.at[at], w.at[at+8], w.at[at+12] = 2, owner, 1
}

// locking is a thread that was stopped in its wait for a mutex.
func locking(tid int, at uint64) snapshot.Thread {
	return snapshot.Thread{TID: tid, Arch: regs.AMD64, Syscall: &snapshot.Syscall{Number: futexCall,
		Args: [6]uint64{at, private, 2}, SP: 0x20000, PC: 0x30000}}
}

func TestExamine(t *testing.T) {
	for _, c := range []struct {
		name    string
		threads []snapshot.Thread
		owners  [2]uint32
		limit   mem.Addr
		kinds   []waits.CycleKind
	}{
		{"each has the lock of the other", []snapshot.Thread{locking(11, second), locking(12, first)},
			[2]uint32{11, 12}, 1 << 20, []waits.CycleKind{waits.Deadlock}},
		{"one waits, the other runs", []snapshot.Thread{locking(11, second), {TID: 12, Arch: regs.AMD64}},
			[2]uint32{11, 12}, 1 << 20, nil},
		{"one waits, the other sleeps in a call that is none of memory", []snapshot.Thread{locking(11, second),
			{TID: 12, Arch: regs.AMD64, Syscall: &snapshot.Syscall{Number: 230}}}, [2]uint32{11, 12}, 1 << 20, nil},
		{"the owner is no thread of the core", []snapshot.Thread{locking(11, second), locking(12, first)},
			[2]uint32{11, 99}, 1 << 20, nil},
		{"the words are not in the core", []snapshot.Thread{locking(11, second), locking(12, first)},
			[2]uint32{11, 12},
			first, []waits.CycleKind{waits.Stuck}}, // any thread of the process could wake them: none is left
	} {
		t.Run(c.name, func(t *testing.T) {
			memory := &words{map[mem.Addr]uint32{}, c.limit, 0}
			memory.mutex(first, c.owners[0])
			memory.mutex(second, c.owners[1])
			s := &snapshot.Snapshot{Process: snapshot.Process{PID: 10}, Host: regs.AMD64, Core: true,
				Threads: c.threads}
			source, facts := New(s, memory)
			g, err := waits.Examine(context.Background(), source, facts)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []waits.CycleKind
			for i := range g.Cycles {
				kinds = append(kinds, g.Cycles[i].Kind)
			}
			if !slices.Equal(kinds, c.kinds) {
				t.Errorf("cycles %v, want %v: %+v", kinds, c.kinds, g.Waits)
			}
			for i := range g.Waits {
				if w := &g.Waits[i]; w.Lost != 0 {
					t.Errorf("thread %d waits for %d, which has exited: a core does not show that", w.TID, w.Lost)
				}
			}
			if memory.reads > 200 {
				t.Errorf("%d reads", memory.reads)
			}
		})
	}
}

func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	memory := &words{map[mem.Addr]uint32{}, 1 << 20, 0}
	s := &snapshot.Snapshot{Process: snapshot.Process{PID: 10}, Host: regs.AMD64, Core: true,
		Threads: []snapshot.Thread{locking(11, first)}}
	source, facts := New(s, memory)
	if _, err := waits.Examine(ctx, source, facts); !errors.Is(err, context.Canceled) || memory.reads > 0 {
		t.Errorf("error %v after %d reads", err, memory.reads)
	}
}

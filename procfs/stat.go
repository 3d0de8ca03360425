package procfs

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Stat is the part of /proc/TID/stat that is of use here.
// Source: proc_pid_stat(5); flags are PF_ bits of linux/include/linux/sched.h.
type Stat struct {
	TID        int
	Comm       string // any bytes, at most 15 (63 for kernel workers)
	State      byte   // R S D T t Z X I
	Parent     int
	Group      int // process group
	Session    int
	Foreground int // the process group that its terminal listens to, -1 for none
	Flags      uint64
	CPU        uint64 // user and system time, in ticks; 0 in a line cut before it
	Reaped     uint64 // the same of children that ended and were waited for, and of theirs
	Start      uint64 // when it began, ticks after boot; 0 in a line cut before it
	Terminal   int    // the device number of its controlling terminal as stat(2) has it, 0 for none
	System     uint64 // the part of CPU in the kernel
	// ChildFaults are faults of memory of children that ended and were waited for: each has some.
	ChildFaults uint64
}

// TicksPerSecond is USER_HZ, the unit of times in /proc/TID/stat.
// Source: linux/include/asm-generic/param.h; 100 on every architecture that regs knows.
const TicksPerSecond = 100

// Bits of [Stat.Flags].
const (
	ForkNoExec = 0x00000040 // PF_FORKNOEXEC: it has not executed a program since it was made
	Exiting    = 0x00000004 // PF_EXITING
)

const (
	flagIOWorker     = 0x00000010 // PF_IO_WORKER since Linux 5.12, PF_VCPU before
	flagUserWorker   = 0x00004000 // PF_USER_WORKER since Linux 6.4
	flagKernelThread = 0x00200000 // PF_KTHREAD
)

// ParseStat reads the text of /proc/TID/stat. The name may hold any bytes, ") R" too: it
// ends at the last parenthesis.
func ParseStat(b []byte) (Stat, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return Stat{}, malformed("stat", string(b))
	}
	tid, isID := Number(bytes.TrimSpace(b[:open]))
	state, rest := cutWord(bytes.TrimSpace(b[end+1:]))
	f, count := statFields(rest)
	const behindFlags, behindChildFaults, behindStart = 6, 8, 19
	if !isID || len(state) != 1 || state[0] < 'A' || state[0] > 'z' || count < behindFlags {
		return Stat{}, malformed("stat", string(b))
	}
	s := Stat{TID: tid, Comm: string(b[open+1 : end]), State: state[0], Parent: int(f[0]), Group: int(f[1]),
		Session: int(f[2]), Terminal: int(f[3]), Foreground: int(f[4]), Flags: uint64(f[5])}
	if count >= behindChildFaults {
		s.ChildFaults = uint64(f[7])
	}
	if count >= behindStart {
		s.System = uint64(f[11])
		s.CPU, s.Reaped, s.Start = uint64(f[10]+f[11]), uint64(f[12]+f[13]), uint64(f[18])
	}
	return s, nil
}

// statFields reads the numbers behind the state, up to the time that the thread began, and how many there are in one
// piece.
func statFields(b []byte) (f [19]int64, count int) {
	for ; count < len(f) && len(b) > 0; count++ {
		var word []byte
		word, b = cutWord(b)
		digits, negative := bytes.CutPrefix(word, []byte("-"))
		n, rest, ok := decimal(digits)
		if !ok || len(rest) > 0 {
			break
		}
		if f[count] = int64(n); negative {
			f[count] = -f[count]
		}
	}
	return f, count
}

// StackStart is where the initial stack of a program began, below its arguments and environment, as the text of
// /proc/TID/stat has it (field 28); false where that is not shown, as to who may not trace the process.
func StackStart(stat []byte) (uint64, bool) {
	const field = 28 - 3 // the state, behind the name, is field 3
	words := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(words) <= field {
		return 0, false
	}
	n, err := strconv.ParseUint(string(words[field]), 10, 64)
	return n, err == nil && n != 0
}

// KernelThread reports whether it has no user code at all and belongs to no process.
func (s *Stat) KernelThread() bool { return s.Flags&flagKernelThread != 0 }

// KernelWorker reports whether it is a kernel's worker inside a process, as io_uring makes
// them. Either flag alone had another meaning in older kernels, and a name alone can be given
// to any thread; a worker that was just born has no name yet.
func (s *Stat) KernelWorker() bool {
	if both := uint64(flagIOWorker | flagUserWorker); s.Flags&both == both {
		return true
	}
	named := strings.HasPrefix(s.Comm, "iou-wrk-") || strings.HasPrefix(s.Comm, "iou-sqp-")
	return named && s.Flags&flagIOWorker != 0
}

// ReadStat reads what root ("/proc") says of process pid, or of one thread. It fails if that is gone; a leader that
// ended before its threads is still there.
func ReadStat(root string, pid int) (Stat, error) {
	return readStat(filepath.Join(root, strconv.Itoa(pid)))
}

// Start is when process pid began, in ticks after boot: with the id it tells one process from another. It is false if
// that is gone.
func Start(root string, pid int) (uint64, bool) {
	st, err := ReadStat(root, pid)
	return st.Start, err == nil
}

func readStat(dir string) (Stat, error) {
	b, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Stat{}, err
	}
	return ParseStat(b)
}

// ParseState takes the state out of the text of stat.
func ParseState(b []byte) (byte, error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 || i+2 >= len(b) || b[i+1] != ' ' {
		return 0, malformed("stat", string(b))
	}
	return b[i+2], nil
}

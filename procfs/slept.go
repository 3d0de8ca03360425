package procfs

import (
	"bytes"
	"path/filepath"
	"strconv"
	"time"
)

// Slept tells how long threads have not run, at least.
//
// The kernel notes when a thread ran last by a clock of its CPU that leaves out what interrupts and the host of a
// virtual machine took: it is behind by up to all that was taken from that CPU since the start. So is that of the
// thread which reads this, by which it is now.
// Source: se.exec_start in linux/kernel/sched/debug.c, update_rq_clock_task in kernel/sched/core.c, proc_stat(5).
type Slept struct {
	root string
	now  time.Duration         // 0 if not known
	up   time.Duration         // since boot, 0 if not known
	took map[int]time.Duration // by CPU
}

// NewSlept reads below root what time it is, and what was taken from CPUs.
func NewSlept(root string) *Slept {
	s := &Slept{root: root, took: map[int]time.Duration{}}
	up, _, _ := bytes.Cut(Read(root+"/uptime", 128), []byte(" "))
	if seconds, err := strconv.ParseFloat(string(up), 64); err == nil && seconds > 0 && seconds < 1e9 {
		s.up = time.Duration(seconds * 1e9)
	}
	s.now, _ = ranLast(Read(root+"/thread-self/sched", 4096))
	for line := range bytes.Lines(Read(root+"/stat", 1<<20)) {
		f := bytes.Fields(line)
		const irq, softirq, steal = 6, 7, 8 // behind the name
		if len(f) <= steal || !bytes.HasPrefix(f[0], []byte("cpu")) {
			continue
		}
		cpu, err := strconv.Atoi(string(f[0][3:]))
		if err != nil {
			continue
		}
		sum := uint64(0)
		for _, at := range []int{irq, softirq, steal} {
			n, _, ok := decimal(f[at])
			if !ok {
				return s
			}
			sum += n
		}
		s.took[cpu] = time.Duration(sum) * time.Second / TicksPerSecond
	}
	return s
}

// Of is how long a thread of process pid has not run at least, 0 if that is not known.
func (s *Slept) Of(pid, tid int) time.Duration {
	dir := filepath.Join(s.root, strconv.Itoa(pid), "task", strconv.Itoa(tid))
	last, ok := ranLast(Read(dir+"/sched", 4096))
	cpu, hasCPU := lastCPU(Read(dir+"/stat", 4096))
	took, known := s.took[cpu]
	if !ok || !hasCPU || !known {
		return 0
	}
	return max(0, s.now-last-took)
}

// Since is by when a thread of process pid had fallen asleep for as long as it has not run, in ticks after boot as
// [Stat.Start]; 0 if that is not known. The kernel's clock of CPUs and that since boot may differ by a thousandth.
func (s *Slept) Since(pid, tid int) uint64 {
	slept := s.Of(pid, tid)
	by := s.up - slept + slept/1000 + 2*time.Second/TicksPerSecond
	if slept == 0 || s.up == 0 || by < 0 {
		return 0
	}
	return uint64(by / (time.Second / TicksPerSecond))
}

// ranLast is when a thread ran last, as the text of its sched has it; false where it never did on its CPU.
func ranLast(sched []byte) (time.Duration, bool) {
	_, rest, found := bytes.Cut(sched, []byte("\nse.exec_start"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	_, value, _ := bytes.Cut(line, []byte(":"))
	ms, err := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
	const most = 1e13 // three centuries
	if !found || err != nil || !(ms > 0 && ms < most) {
		return 0, false
	}
	return time.Duration(ms * 1e6), true
}

// lastCPU is the CPU that a thread ran on last: field 39 of the text of its stat.
func lastCPU(stat []byte) (int, bool) {
	const field = 39 - 3 // the state, behind the name, is field 3
	words := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(words) <= field {
		return 0, false
	}
	return Number(words[field])
}

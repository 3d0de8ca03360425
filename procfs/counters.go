package procfs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Counters is what the kernel counts of one thread since it began, and its state then.
type Counters struct {
	State  byte   // as in [Stat]
	Start  uint64 // when it began, as in [Stat]: it tells a thread from another that got its id
	CPU    time.Duration
	System time.Duration // the part of CPU that it was in the kernel, in steps of a tick
	// Delay is how long it was ready to run and had no CPU, if HasDelay says that this kernel counts it. Without it CPU
	// is in steps of a tick.
	Delay    time.Duration
	HasDelay bool
	// Voluntary counts how often it went to sleep, Preemptive how often a CPU was taken from it.
	Voluntary, Preemptive uint64
}

// ReadCounters reads those of each thread of process pid below root, by its id. Threads that ended meanwhile are not
// among them. The error says that the process has none.
// Source: proc_pid_status(5), linux/Documentation/scheduler/sched-stats.rst.
func ReadCounters(root string, pid int) (map[int]Counters, error) {
	dir := filepath.Join(root, strconv.Itoa(pid), "task")
	tids, err := numbers(dir)
	if err != nil {
		return nil, fmt.Errorf("read counters of process %d: %w", pid, err)
	}
	all := make(map[int]Counters, len(tids))
	for _, tid := range tids {
		if c, err := readCounters(filepath.Join(dir, strconv.Itoa(tid))); err == nil {
			all[tid] = c
		}
	}
	return all, nil
}

// readCounters reads those of the thread in dir.
func readCounters(dir string) (c Counters, err error) {
	const most = 64 << 10
	status := Read(dir+"/status", most)
	if c.Voluntary, err = counter(status, "\nvoluntary_ctxt_switches:\t"); err != nil {
		return c, err
	}
	if c.Preemptive, err = counter(status, "\nnonvoluntary_ctxt_switches:\t"); err != nil {
		return c, err
	}
	if st, err := ParseStatus(status); err == nil {
		c.State = st.State
	}
	st, err := readStat(dir)
	if err != nil {
		return c, err
	}
	c.Start = st.Start
	c.CPU = time.Duration(st.CPU) * time.Second / TicksPerSecond
	c.System = time.Duration(st.System) * time.Second / TicksPerSecond
	if b := Read(dir+"/schedstat", most); len(b) > 0 {
		s, err := ParseSchedstat(b)
		c.CPU, c.Delay, c.HasDelay = s.CPU, s.Waited, err == nil
		return c, err
	}
	return c, nil
}

// counter reads the number behind key in the text of a status file.
func counter(b []byte, key string) (uint64, error) {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return 0, malformed("status", string(b))
	}
	n, _, ok := decimal(b[i+len(key):])
	if !ok {
		return 0, malformed("status", string(b))
	}
	return n, nil
}

// ReadState returns the state of a thread as in [Stat], 0 if it has ended.
func ReadState(root string, pid, tid int) byte {
	file := filepath.Join(root, strconv.Itoa(pid), "task", strconv.Itoa(tid), "stat")
	f, err := os.Open(file)
	if err != nil {
		return 0
	}
	defer f.Close()
	var b [512]byte
	n, _ := f.Read(b[:])
	state, err := ParseState(b[:n])
	if err != nil {
		return 0
	}
	return state
}

package procfs

import "time"

// Schedstat is what the kernel counts of a thread: the time that it ran, the time that it was ready to run and had no
// CPU, and how often it was put on one.
type Schedstat struct {
	CPU, Waited time.Duration
	Switches    uint64
}

// ParseSchedstat reads the text of /proc/TID/schedstat: nanoseconds on a CPU, nanoseconds
// of waiting for one, times put on one.
// Source: linux/Documentation/scheduler/sched-stats.rst.
func ParseSchedstat(b []byte) (Schedstat, error) {
	cpu, rest, ok1 := decimal(b)
	waited, rest, ok2 := decimal(rest)
	switches, _, ok3 := decimal(rest)
	if !ok1 || !ok2 || !ok3 {
		return Schedstat{}, malformed("schedstat", string(b))
	}
	return Schedstat{CPU: time.Duration(cpu), Waited: time.Duration(waited), Switches: switches}, nil
}

// ParseSwitches reads from the text of /proc/TID/status how often the thread was taken from a CPU.
// Source: proc_pid_status(5).
func ParseSwitches(b []byte) (switches uint64, err error) {
	for _, key := range []string{"\nvoluntary_ctxt_switches:\t", "\nnonvoluntary_ctxt_switches:\t"} {
		n, err := counter(b, key)
		if err != nil {
			return 0, err
		}
		switches += n
	}
	return switches, nil
}

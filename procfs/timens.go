package procfs

import (
	"strconv"
	"strings"
	"time"
)

// ParseMonotonicOffset reads /proc/PID/timens_offsets: what the time namespace of a process adds to CLOCK_MONOTONIC, 0
// if it does not say. Source: time_namespaces(7).
func ParseMonotonicOffset(b []byte) time.Duration {
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "monotonic" && f[0] != "1" { // the name since Linux 5.7, the number before
			continue
		}
		seconds, err := strconv.ParseInt(f[1], 10, 64)
		nanos, err2 := strconv.ParseInt(f[2], 10, 64)
		const most = 1 << 33 // seconds that a Duration holds
		if err == nil && err2 == nil && seconds > -most && seconds < most && nanos >= 0 && nanos < int64(time.Second) {
			return time.Duration(seconds)*time.Second + time.Duration(nanos)
		}
	}
	return 0
}

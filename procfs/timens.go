package procfs

import (
	"strconv"
	"strings"
	"time"
)

// ParseTimeOffsets reads the text of /proc/PID/timens_offsets: how far CLOCK_MONOTONIC of the process's time namespace
// is ahead of that of the machine. It is 0 where the text does not say.
//
// Source: time_namespaces(7).
func ParseTimeOffsets(b []byte) (monotonic time.Duration) {
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "monotonic" {
			continue
		}
		s, err1 := strconv.ParseInt(f[1], 10, 33)
		ns, err2 := strconv.ParseInt(f[2], 10, 64)
		if err1 == nil && err2 == nil {
			return time.Duration(s)*time.Second + time.Duration(ns)
		}
	}
	return 0
}

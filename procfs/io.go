package procfs

import (
	"bytes"
	"strconv"
)

// IO is what a process has read and written, that of its threads that ended and of children that it waited for too.
type IO struct {
	Read, Written uint64 // bytes by read(2), write(2) and their like; recv(2) and send(2) are none
	Writes        uint64 // calls
}

// ParseIO reads the text of /proc/PID/io. It is false if that lacks a number. Source: proc_pid_io(5).
func ParseIO(b []byte) (io IO, ok bool) {
	found := 0
	for line := range bytes.Lines(b) {
		key, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(": "))
		n, err := strconv.ParseUint(string(value), 10, 64)
		if err != nil {
			return IO{}, false
		}
		switch string(key) {
		case "rchar":
			io.Read = n
		case "wchar":
			io.Written = n
		case "syscw":
			io.Writes = n
		default:
			continue
		}
		found++
	}
	return io, found == 3
}

package procfs

import (
	"strconv"
	"strings"
)

// Status is the part of /proc/PID/status that is of use here. A number that the file does
// not have is -1, a set of capabilities 0.
// Source: proc_pid_status(5).
type Status struct {
	Name        string // escaped by the kernel: \n and \\
	State       byte   // as in [Stat], 0 unknown
	PID, TGID   int    // of the thread and of its process
	Inner       int    // of the thread in its own pid namespace, the last number of NSpid; PID before Linux 4.1
	Parent      int
	TracerPid   int
	UIDs, GIDs  [4]int // real, effective, saved, file system
	CapPrm      uint64
	CapEff      uint64
	Pending     uint64 // signals that wait for the thread, as Caught
	Blocked     uint64 // signals that it has blocked
	Caught      uint64 // the signals that it has handlers for, bit n-1 for signal n
	Ignored     uint64 // those that it ignores, as Caught
	Seccomp     int    // 0 off, 1 strict, 2 filter
	CoreDumping bool
	Memory      bool // it has memory of its own: no thread of the kernel, and not ended
	Swapped     bool // some of it is swapped out, as far as it is the process's alone
	Kthread     int  // 1 for a thread of the kernel; -1 before Linux 6.8
}

// ParseStatus reads the text of /proc/PID/status.
func ParseStatus(b []byte) (Status, error) {
	none := [4]int{-1, -1, -1, -1}
	s := Status{PID: -1, TGID: -1, Inner: -1, Parent: -1, TracerPid: -1, UIDs: none, GIDs: none, Seccomp: -1,
		Kthread: -1}
	for line := range strings.Lines(string(b)) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		if !ok {
			continue
		}
		value = strings.TrimPrefix(value, "\t")
		var err error
		switch key {
		case "Name":
			s.Name = value
		case "State":
			if value != "" {
				s.State = value[0]
			}
		case "Pid":
			s.PID, err = strconv.Atoi(value)
		case "Tgid":
			s.TGID, err = strconv.Atoi(value)
		case "PPid":
			s.Parent, err = strconv.Atoi(value)
		case "TracerPid":
			s.TracerPid, err = strconv.Atoi(value)
		case "NSpid":
			s.Inner, err = strconv.Atoi(value[strings.LastIndexByte(value, '\t')+1:])
		case "Uid":
			err = parseIDs(&s.UIDs, value)
		case "Gid":
			err = parseIDs(&s.GIDs, value)
		case "CapPrm":
			s.CapPrm, err = strconv.ParseUint(value, 16, 64)
		case "CapEff":
			s.CapEff, err = strconv.ParseUint(value, 16, 64)
		case "SigPnd":
			s.Pending, err = strconv.ParseUint(value, 16, 64)
		case "SigBlk":
			s.Blocked, err = strconv.ParseUint(value, 16, 64)
		case "SigIgn":
			s.Ignored, err = strconv.ParseUint(value, 16, 64)
		case "SigCgt":
			s.Caught, err = strconv.ParseUint(value, 16, 64)
		case "Seccomp":
			s.Seccomp, err = strconv.Atoi(value)
		case "CoreDumping":
			s.CoreDumping = value == "1"
		case "VmSize":
			s.Memory = true
		case "VmSwap":
			s.Swapped = strings.TrimSpace(value) != "0 kB"
		case "Kthread":
			s.Kthread, err = strconv.Atoi(value)
		}
		if err != nil {
			return s, malformed("status", line)
		}
	}
	if s.TGID < 0 {
		return s, malformed("status", string(b))
	}
	if s.Inner < 0 {
		s.Inner = s.PID
	}
	return s, nil
}

func parseIDs(ids *[4]int, text string) error {
	f := strings.Fields(text)
	for i := range min(len(ids), len(f)) {
		n, err := strconv.ParseUint(f[i], 10, 32)
		if err != nil {
			return err
		}
		ids[i] = int(n)
	}
	return nil
}

package procfs

import "strings"

// maxKernelFrames bounds what is kept of a kernel stack; the kernel shows 64.
const maxKernelFrames = 256

// ParseKernelStack reads the text of /proc/TID/stack, innermost first, as "do_wait+0x5f/0xe0".
// Source: proc_pid_stack(5).
func ParseKernelStack(b []byte) []string {
	var frames []string
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || len(frames) == maxKernelFrames {
			continue
		}
		if strings.HasPrefix(line, "[<") {
			if _, after, ok := strings.Cut(line, ">] "); ok {
				line = after
			}
		}
		frames = append(frames, line)
	}
	return frames
}

// ParseWchan reads the text of /proc/TID/wchan: the kernel function that a thread sleeps
// in. It is "" for a thread that does not sleep and where the kernel hides it ("0").
// Source: proc_pid_wchan(5).
func ParseWchan(b []byte) string {
	s := strings.TrimSpace(string(b))
	if s == "0" {
		return ""
	}
	return s
}

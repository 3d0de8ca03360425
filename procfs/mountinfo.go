package procfs

import (
	"strconv"
	"strings"
)

// Mount is one line of /proc/PID/mountinfo.
type Mount struct {
	Point string // as the process reaches it
	Type  string // "ext4", "fuse.sshfs"
}

// ParseMounts reads the text of /proc/PID/mountinfo: what was mounted later comes later. Lines that it does not
// understand are left out.
//
// Source: proc_pid_mountinfo(5).
func ParseMounts(b []byte) []Mount {
	var out []Mount
	for line := range strings.Lines(string(b)) {
		head, tail, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		fields := strings.Split(head, " ")
		if !ok || len(fields) < 6 {
			continue
		}
		kind, _, _ := strings.Cut(tail, " ")
		out = append(out, Mount{Point: unescapeOctal(fields[4]), Type: kind})
	}
	return out
}

// unescapeOctal undoes the escapes of white space and backslashes, as \040.
// Source: mangle_path in linux/fs/seq_file.c.
func unescapeOctal(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(v))
				i += 3
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// served are types of file systems that another process or machine answers for: whoever asks may wait for ever.
var served = []string{"fuse", "nfs", "cifs", "smb", "9p", "ceph", "afs", "coda", "autofs", "lustre", "davfs", "ncp"}

// Served returns the mount on the way to path, an absolute one without links, that another process or machine answers
// for; false if there is none.
func Served(mounts []Mount, path string) (Mount, bool) {
	top := map[string]Mount{} // the last one at a place hides those before
	for _, m := range mounts {
		if at := strings.TrimSuffix(m.Point, "/"); path == at || strings.HasPrefix(path, at+"/") {
			top[at] = m
		}
	}
	for _, m := range top {
		for _, kind := range served {
			if strings.HasPrefix(m.Type, kind) {
				return m, true
			}
		}
	}
	return Mount{}, false
}

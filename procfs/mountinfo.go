package procfs

import (
	"slices"
	"strconv"
	"strings"
)

// Mount is one line of /proc/PID/mountinfo.
type Mount struct {
	ID     int    // as mnt_id of fdinfo has it; -1 unknown
	Dev    Device // of the file system
	Root   string // the folder of the file system that is seen there
	Point  string // as the process reaches it
	Type   string // "ext4", "fuse.sshfs"
	Source string // what is mounted, as "server:/export"
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
		m := Mount{ID: int(integer(fields[0], 10, -1)), Root: unescapeOctal(fields[3]),
			Point: unescapeOctal(fields[4])}
		if major, minor, ok := strings.Cut(fields[2], ":"); ok {
			m.Dev = MakeDevice(uint32(integer(major, 10, 0)), uint32(integer(minor, 10, 0)))
		}
		kind, rest, _ := strings.Cut(tail, " ")
		source, _, _ := strings.Cut(rest, " ")
		m.Type, m.Source = kind, unescapeOctal(source)
		out = append(out, m)
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
		if m.IsServed() {
			return m, true
		}
	}
	return Mount{}, false
}

// IsServed reports whether another process or machine answers for the file system of m.
func (m *Mount) IsServed() bool {
	return slices.ContainsFunc(served, func(kind string) bool { return strings.HasPrefix(m.Type, kind) })
}

package waits

import (
	"bytes"
	"path"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
)

// path reads the name of a file from the memory of who calls: at most 4095 bytes, PATH_MAX. It is read in pieces, as
// what lies behind its end need not be mapped.
func (c *blocked) path(addr mem.Addr) (string, bool) {
	var name []byte
	for len(name) < 4096 {
		next := addr + mem.Addr(len(name))
		piece, ok := c.r.bytes(next, int(Line-next%Line))
		if !ok {
			return "", false
		}
		if end := bytes.IndexByte(piece, 0); end >= 0 {
			return string(append(name, piece[:end]...)), true
		}
		name = append(name, piece...)
	}
	return "", false
}

// pathArgument is which argument of a call is the name of a file, -1 for none.
func pathArgument(name string) int {
	switch name {
	case "open", "creat", "stat", "lstat", "stat64", "lstat64", "access", "chdir", "mkdir", "rmdir", "unlink", "rename",
		"readlink", "truncate", "execve", "statfs", "chmod", "chown":
		return 0
	case "openat", "openat2", "newfstatat", "fstatat64", "statx", "faccessat", "faccessat2", "mkdirat", "unlinkat",
		"renameat", "renameat2", "readlinkat", "utimensat":
		return 1
	}
	return -1
}

// open is a wait in opening a file: of a FIFO for its other end.
func (s *study) open(c *blocked, w *Wait) {
	w.Object = Object{Kind: kindFileToOpen}
	name, ok := c.path(c.ptr(pathArgument(c.name)))
	if ok {
		w.Object.Name = name
	}
	if strings.HasPrefix(c.t.Wchan, "wait_for_partner") || strings.HasPrefix(c.t.Wchan, "fifo_open") {
		w.Object.Kind = kindFifoPartner
		w.Mode, w.Unlisted = Outside, "any process that opens the path could end it"
		return
	}
	w.Mode, w.Unlisted = Outside, "what opening it takes is not shown"
}

// mountOf is the mount that the file of the call lies on, and the file's name; nil if that is not known.
func (s *study) mountOf(c *blocked) (mount *procfs.Mount, name string) {
	if at := pathArgument(c.name); at >= 0 {
		file, ok := c.path(c.ptr(at))
		mounts, known := s.facts.Files.Mounts[c.p.PID]
		if !known {
			s.need.Files.Mounts = append(s.need.Files.Mounts, c.p.PID)
		}
		if !ok || !known || !strings.HasPrefix(file, "/") {
			return nil, file
		}
		return mountAt(mounts, path.Clean(file)), file
	}
	if fd := s.file(c.p, c.fd(0)); fd != nil {
		return fd.Mount, fd.Link
	}
	return nil, ""
}

// mountAt is the mount that file lies on, an absolute path without links. What was mounted later hides what was before.
func mountAt(mounts []procfs.Mount, file string) *procfs.Mount {
	var best *procfs.Mount
	longest := -1
	for i := range mounts {
		at := strings.TrimSuffix(mounts[i].Point, "/")
		if (file == at || strings.HasPrefix(file, at+"/")) && len(at) >= longest {
			best, longest = &mounts[i], len(at)
		}
	}
	return best
}

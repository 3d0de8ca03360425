package cmd

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol/source"
	"github.com/fpstack/fpstack/work"
)

// Bounds of reading source files for a page: files are some ten thousand bytes long, and a second is enough for
// hundreds.
const (
	largestSource = 8 << 20 // bytes of a file
	sourceSteps   = 1 << 26
	sourceMemory  = 64 << 20
	around        = 2 // lines before and behind each that was seen
)

// sourceLines gives the lines of p's functions for a page.
func sourceLines(p *profile.Profile) map[string]profile.Source {
	view := source.View{Open: openSource, ModTime: ownSource.ModTime}
	return source.ForProfile(p, around, work.New(sourceSteps, sourceMemory), view)
}

// openSource opens a regular file that may be shown to others: its name comes from the target, and the page is given
// away. As root that is one which everybody may read, in folders that everybody may enter; the permission of what was
// opened counts, not that of the name.
func openSource(path string) (*module.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("open %q: not a regular file", path)
	case os.Geteuid() == 0 && (info.Mode()&0o004 == 0 || !everybodyReaches(f)):
		return nil, fmt.Errorf("open %q: not readable by everybody", path)
	case info.Size() > largestSource:
		return nil, fmt.Errorf("open %q: more than %d MiB", path, largestSource>>20)
	}
	data, err := io.ReadAll(io.LimitReader(f, largestSource))
	if err != nil {
		return nil, err
	}
	return &module.File{Data: data, Path: path}, nil
}

// everybodyReaches says whether everybody may enter all the folders that the opened file lies in.
func everybodyReaches(f *os.File) bool {
	dir, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return false
	}
	for dir != "/" {
		dir = filepath.Dir(dir)
		if info, err := os.Stat(dir); err != nil || info.Mode()&0o001 == 0 {
			return false
		}
	}
	return true
}

// seesOurFiles says whether a process has our root directory and our mounts. Else a name means another file there.
func seesOurFiles(pid int) bool {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
	if err != nil {
		return false
	}
	ours, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil || ours != theirs {
		return false
	}
	root, err := os.Stat(fmt.Sprintf("/proc/%d/root/", pid))
	if err != nil {
		return false
	}
	own, err := os.Stat("/")
	return err == nil && os.SameFile(root, own)
}

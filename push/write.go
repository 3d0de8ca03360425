package push

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
)

// unfinished begins the names of files that are being written.
const unfinished = "unfinished-"

// writeNew writes a new file into a folder: it has its name when it is complete, and it fails with fs.ErrExist where
// something has that name, a link too. What is in it survives a crash of the machine, and its name after [syncFolder].
// Source: fsync(2).
func writeNew(folder *os.Root, name string, parts ...[]byte) error {
	own := unfinished + strconv.FormatUint(rand.Uint64(), 36)
	f, err := folder.OpenFile(own, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer folder.Remove(own)
	for _, part := range parts {
		if _, err = f.Write(part); err != nil {
			break
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if errClose := f.Close(); err == nil {
		err = errClose
	}
	if err != nil {
		return err
	}
	err = folder.Link(own, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without hard links.
	if _, err := folder.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return fs.ErrExist
	}
	return folder.Rename(own, name)
}

// syncFolder has the names in a folder survive a crash of the machine.
func syncFolder(folder *os.Root) error {
	dir, err := folder.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

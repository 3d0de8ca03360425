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
// something has that name, a link too. It survives a crash of the machine after [syncFiles].
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

// syncFiles has files of a folder survive a crash of the machine, with their names. Those that are gone are left out.
// Source: fsync(2), also of the folder.
func syncFiles(folder *os.Root, names []string) error {
	for _, name := range append(names, ".") {
		f, err := folder.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

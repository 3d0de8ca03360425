//go:build linux

package outfile

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// spare is how much of a file system stays free, at most, bytes.
const spare = 1 << 30

// RoomStep is how much is written before the free space of the disk is read again, bytes: others write there too.
const RoomStep = 64 << 20

// Room is how many bytes may be written to the file system of folder dir so that a tenth of it stays free, at most a
// gigabyte: others write there too. It is below 0 where less is free already.
//
// Source: statfs(2); f_bavail leaves out what is kept for root.
func Room(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("read free space of %q: %w", dir, err)
	}
	unit := uint64(st.Bsize)
	if st.Frsize > 0 {
		unit = uint64(st.Frsize)
	}
	const most = 1 << 62 // some file systems of the network know no end
	unit = max(unit, 1)
	free, all := min(st.Bavail, most/unit)*unit, min(st.Blocks, most/unit)*unit
	return int64(free) - int64(min(all/10, spare)), nil
}

package trigger

import "github.com/fpstack/fpstack/hang"

// Activity is what moved between two readings, but for output and commands, in bytes.
func Activity(before, after Evidence) hang.Activity {
	return hang.Activity{Network: received(before.Network, after.Network),
		IO: after.IO.Read(before.IO, nil) + after.IO.Written(before.IO, false)}
}

// received is how many bytes went over sockets, those that are new from 0.
func received(before, after map[uint64]uint64) (sum uint64) {
	for inode, n := range after {
		sum += grown(before[inode], n)
	}
	return sum
}

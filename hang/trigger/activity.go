package trigger

import "github.com/fpstack/fpstack/hang"

// Activity is what moved between two readings, but for output and commands, in bytes.
func Activity(before, after Evidence) hang.Activity {
	return hang.Activity{Network: grown(before.Network, after.Network), IO: grown(before.IO, after.IO)}
}

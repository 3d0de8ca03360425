//go:build cgo

package cmd

// threadSpace is the address space that threads reserve besides, bytes: where the C library starts them each has a
// stack of 8 MB and 64 MB for its malloc. Observed: a recording ends in the middle at 1,700 and 1,900 MB.
const threadSpace = 800 << 20

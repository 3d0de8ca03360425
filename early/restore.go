package early

import "syscall"

// addressSpace is RLIMIT_AS of linux/include/uapi/asm-generic/resource.h, the same on all architectures of fpstack.
const addressSpace = 9

// Restore gives this program the soft limit that it began with. It is called first in main.
func Restore() {
	if lowered == 0 {
		return
	}
	var limit syscall.Rlimit
	if syscall.Getrlimit(addressSpace, &limit) == nil {
		limit.Cur = lowered
		_ = syscall.Setrlimit(addressSpace, &limit) // never refused: it is not above the hard limit
	}
	lowered = 0
}

package corefile

import (
	"bytes"
	"strconv"

	"github.com/fpstack/fpstack/maps"
)

// Filter says which memory belongs into a core, as /proc/PID/coredump_filter does.
type Filter uint32

// DefaultFilter is that of the kernel.
const DefaultFilter = Filter(anonPrivate | anonShared | elfHeaders | hugePrivate)

// Bits of a Filter. Source: core(5), linux/include/linux/sched/coredump.h.
const (
	anonPrivate   = 1 << 0
	anonShared    = 1 << 1
	mappedPrivate = 1 << 2
	mappedShared  = 1 << 3
	elfHeaders    = 1 << 4
	hugePrivate   = 1 << 5
	hugeShared    = 1 << 6
)

// ParseFilter reads the text of /proc/PID/coredump_filter; DefaultFilter if that says nothing.
func ParseFilter(text []byte) Filter {
	n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 16, 32)
	if err != nil {
		return DefaultFilter
	}
	return Filter(n)
}

// Size is how many bytes of the begin of a mapping belong into a core. header says that they do only if they are those
// of an ELF file.
//
// Source: vma_dump_size in linux/fs/coredump.c. That a private mapping was written to is seen there by its anon_vma,
// here by its anonymous pages. Where usage is not known, private memory counts that may be written to.
func (f Filter) Size(u *maps.Usage, page uint64) (n uint64, header bool) {
	whole, shared := uint64(u.End-u.Start), u.Perm&maps.Shared != 0
	has := func(bit Filter) (uint64, bool) {
		if f&bit != 0 {
			return whole, false
		}
		return 0, false
	}
	switch {
	case u.Path == "[vdso]":
		return whole, false
	case u.Path == "[vsyscall]", u.Has("dd"): // the first is no memory; VM_DONTDUMP
		return 0, false
	case u.Has("ht") && shared:
		return has(hugeShared)
	case u.Has("ht"):
		return has(hugePrivate)
	case u.Has("io"): // VM_IO: a device
		return 0, false
	case shared && (u.Deleted || !u.IsFile()):
		return has(anonShared)
	case shared:
		return has(mappedShared)
	case f&anonPrivate != 0 && written(u):
		return whole, false
	case !u.IsFile():
		return 0, false
	case f&mappedPrivate != 0:
		return whole, false
	case f&elfHeaders != 0 && u.Offset == 0 && u.Perm&maps.Read != 0:
		return min(page, whole), true
	}
	return 0, false
}

// written reports whether the process has written to private memory.
func written(u *maps.Usage) bool {
	if u.Flags == "" {
		return !u.IsFile() || u.Perm&maps.Write != 0
	}
	return u.Anonymous+u.Swapped > 0
}

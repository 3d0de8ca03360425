package syscalls

//go:generate go run gen.go

// numbers returns the table of an architecture by its GOARCH name, nil if it is not known. Some differ from it.
func numbers(arch string) []string {
	switch arch {
	case "amd64":
		return amd64Names[:]
	case "386":
		return i386Names[:]
	case "arm64", "riscv64", "loong64":
		return arm64Names[:] // the kernel's generic numbers: see differences
	case "arm":
		return armNames[:]
	case "s390x":
		return s390xNames[:]
	case "ppc64le":
		return ppc64leNames[:]
	}
	return nil
}

// armPrivate is the number of the calls that arm alone has, far above the table.
// Source: __ARM_NR_BASE in linux/arch/arm/include/uapi/asm/unistd.h.
const armPrivate = 0x0f0000

var armPrivateNames = [...]string{1: "breakpoint", "cacheflush", "usr26", "usr32", "set_tls", "get_tls"}

// Name returns the name of system call nr on arch, a GOARCH name; a 32-bit process has the
// numbers of its own architecture ("386", "arm"), whatever its kernel runs on. It reports
// false for an unknown architecture or number, and for -1, by which the kernel says that a
// thread is blocked outside of any call.
func Name(arch string, nr int64) (string, bool) {
	table := numbers(arch)
	if arch == "arm" && nr >= armPrivate {
		table, nr = armPrivateNames[:], nr-armPrivate
	}
	if name, other := differences[arch][nr]; other {
		return name, name != ""
	}
	if nr < 0 || nr >= int64(len(table)) || table[nr] == "" {
		return "", false
	}
	return table[nr], true
}

// Restarts reports whether nr is restart_syscall on arch: the kernel makes it of a call with a limit of time that goes
// on after a stop, and which call that was does not show.
// Source: restart_syscall(2).
func Restarts(arch string, nr int64) bool {
	name, ok := Name(arch, nr)
	return ok && name == "restart_syscall"
}

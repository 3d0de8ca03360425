package syscalls

import "strings"

// constantText returns how a list of names shows a value; nil if there is no such list.
// A value that no name fits is shown as a number.
func constantText(list string) func(uint64) string {
	switch list {
	case "futex":
		return futexText
	case "wait":
		return waitText
	case "idtype":
		return named("P_ALL", "P_PID", "P_PGID", "P_PIDFD")
	case "clock":
		return named("CLOCK_REALTIME", "CLOCK_MONOTONIC", "CLOCK_PROCESS_CPUTIME_ID", "CLOCK_THREAD_CPUTIME_ID",
			"CLOCK_MONOTONIC_RAW", "CLOCK_REALTIME_COARSE", "CLOCK_MONOTONIC_COARSE", "CLOCK_BOOTTIME",
			"CLOCK_REALTIME_ALARM", "CLOCK_BOOTTIME_ALARM", "", "CLOCK_TAI")
	case "fcntl":
		return fcntlText
	case "flock":
		return flockText
	case "epollop":
		return named("", "EPOLL_CTL_ADD", "EPOLL_CTL_DEL", "EPOLL_CTL_MOD")
	case "whence":
		return named("SEEK_SET", "SEEK_CUR", "SEEK_END", "SEEK_DATA", "SEEK_HOLE")
	case "shut":
		return named("SHUT_RD", "SHUT_WR", "SHUT_RDWR")
	case "socketcall":
		// Source: include/uapi/linux/net.h.
		return named("", "SYS_SOCKET", "SYS_BIND", "SYS_CONNECT", "SYS_LISTEN", "SYS_ACCEPT", "SYS_GETSOCKNAME",
			"SYS_GETPEERNAME", "SYS_SOCKETPAIR", "SYS_SEND", "SYS_RECV", "SYS_SENDTO", "SYS_RECVFROM", "SYS_SHUTDOWN",
			"SYS_SETSOCKOPT", "SYS_GETSOCKOPT", "SYS_SENDMSG", "SYS_RECVMSG", "SYS_ACCEPT4", "SYS_RECVMMSG",
			"SYS_SENDMMSG")
	case "ipc":
		return ipcText
	case "signal":
		return signalText
	}
	return nil
}

// named shows a value as the name at its index.
func named(names ...string) func(uint64) string {
	return func(v uint64) string {
		if v < uint64(len(names)) && names[v] != "" {
			return names[v]
		}
		return intText(v)
	}
}

// bit is one flag with its name.
type bit struct {
	value uint64
	name  string
}

// flagsText shows v as names joined by "|", and what no bit names as a number.
func flagsText(v uint64, bits []bit) string {
	var names []string
	for _, b := range bits {
		if v&b.value == b.value {
			names = append(names, b.name)
			v &^= b.value
		}
	}
	if v != 0 || len(names) == 0 {
		names = append(names, hexText(v&0xffffffff))
	}
	return strings.Join(names, "|")
}

// futexText shows the operation of futex(2) with its modifiers, as FUTEX_WAIT_PRIVATE and
// FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME. Source: include/uapi/linux/futex.h.
func futexText(v uint64) string {
	const private, realtime, commands = 128, 256, 127
	operations := [...]string{"WAIT", "WAKE", "FD", "REQUEUE", "CMP_REQUEUE", "WAKE_OP", "LOCK_PI", "UNLOCK_PI",
		"TRYLOCK_PI", "WAIT_BITSET", "WAKE_BITSET", "WAIT_REQUEUE_PI", "CMP_REQUEUE_PI", "LOCK_PI2"}
	op := v & commands
	if op >= uint64(len(operations)) || v&^uint64(private|realtime|commands) != 0 {
		return hexText(v & 0xffffffff)
	}
	text := "FUTEX_" + operations[op]
	if v&private != 0 {
		text += "_PRIVATE"
	}
	if v&realtime != 0 {
		text += "|FUTEX_CLOCK_REALTIME"
	}
	return text
}

// waitText shows the options of wait4 and waitid. Source: include/uapi/linux/wait.h.
func waitText(v uint64) string {
	return flagsText(v&0xffffffff, []bit{{1, "WNOHANG"}, {2, "WSTOPPED"}, {4, "WEXITED"}, {8, "WCONTINUED"},
		{0x1000000, "WNOWAIT"},
		{0x20000000, "__WNOTHREAD"}, {0x40000000, "__WALL"}, {0x80000000, "__WCLONE"}})
}

// flockText shows the operation of flock(2). Source: include/uapi/asm-generic/fcntl.h.
func flockText(v uint64) string {
	return flagsText(v&0xffffffff, []bit{{1, "LOCK_SH"}, {2, "LOCK_EX"}, {8, "LOCK_UN"}, {4, "LOCK_NB"}})
}

// fcntlText shows the command of fcntl(2).
// Source: include/uapi/asm-generic/fcntl.h, include/uapi/linux/fcntl.h.
func fcntlText(v uint64) string {
	const linux = 1024
	commands := [...]string{"F_DUPFD", "F_GETFD", "F_SETFD", "F_GETFL", "F_SETFL", "F_GETLK", "F_SETLK", "F_SETLKW",
		"F_SETOWN", "F_GETOWN", "F_SETSIG", "F_GETSIG", "F_GETLK64", "F_SETLK64", "F_SETLKW64", "F_SETOWN_EX",
		"F_GETOWN_EX", "F_GETOWNER_UIDS"}
	linuxCommands := [...]string{"F_SETLEASE", "F_GETLEASE", "F_NOTIFY", 6: "F_DUPFD_CLOEXEC", "F_SETPIPE_SZ",
		"F_GETPIPE_SZ",
		"F_ADD_SEALS", "F_GET_SEALS"}
	const firstOFD = 36 // F_OFD_GETLK
	ofd := [...]string{"F_OFD_GETLK", "F_OFD_SETLK", "F_OFD_SETLKW"}
	switch {
	case v >= linux && v-linux < uint64(len(linuxCommands)) && linuxCommands[v-linux] != "":
		return linuxCommands[v-linux]
	case v >= firstOFD && v-firstOFD < uint64(len(ofd)):
		return ofd[v-firstOFD]
	}
	return named(commands[:]...)(v)
}

// ipcText shows the call of ipc(2); its upper half is a version. Source: include/uapi/linux/ipc.h.
func ipcText(v uint64) string {
	names := [...]string{1: "SEMOP", "SEMGET", "SEMCTL", "SEMTIMEDOP", 11: "MSGSND", "MSGRCV", "MSGGET", "MSGCTL",
		21: "SHMAT", "SHMDT", "SHMGET", "SHMCTL"}
	return named(names[:]...)(v & 0xffff)
}

package syscalls

// SignalName is the name of a signal, its number where it has none (from 32 on).
// Source: include/uapi/asm-generic/signal.h; the architectures known here have no others.
func SignalName(number uint64) string { return signalText(number) }

var signalText = named("", "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE",
	"SIGKILL", "SIGUSR1",
	"SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP",
	"SIGTTIN", "SIGTTOU", "SIGURG", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO", "SIGPWR",
	"SIGSYS")

// SignalCause is what the code (si_code) of a signal says of its cause, "" where it says nothing that is known.
// Source: include/uapi/asm-generic/siginfo.h; the words are those of sigaction(2).
func SignalCause(number uint64, code int) string {
	switch code {
	case 0, -6: // SI_USER, SI_TKILL
		return "sent by kill"
	case -1:
		return "sent by sigqueue"
	case -2:
		return "timer"
	case 0x80: // SI_KERNEL
		return "sent by the kernel"
	}
	causes := faults[signalText(number)]
	if code < 1 || code > len(causes) {
		return ""
	}
	return causes[code-1]
}

// faults are the causes of the signals that faults send, by si_code from 1 on.
var faults = map[string][]string{
	"SIGILL": {"illegal opcode", "illegal operand", "illegal addressing mode", "illegal trap", "privileged opcode",
		"privileged register", "coprocessor error", "internal stack error"},
	"SIGFPE": {"integer divide by zero", "integer overflow", "floating-point divide by zero",
		"floating-point overflow", "floating-point underflow", "floating-point inexact result",
		"floating-point invalid operation", "subscript out of range"},
	"SIGSEGV": {"address not mapped", "access not permitted", "failed address bound checks",
		"access denied by memory protection keys", "ADI not enabled", "ADI disrupting mismatch",
		"ADI precise mismatch", "asynchronous memory tag mismatch", "synchronous memory tag mismatch",
		"control protection fault"},
	"SIGBUS": {"invalid address alignment", "nonexistent physical address", "object-specific hardware error",
		"hardware memory error, action required", "hardware memory error, action optional"},
	"SIGTRAP": {"breakpoint", "trace trap", "branch trap", "hardware breakpoint", "undiagnosed trap",
		"performance event"},
	"SIGSYS": {"refused by seccomp", "system call user dispatch"},
}

package cmd

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/tracer"
)

// capSysPtrace is CAP_SYS_PTRACE of capabilities(7).
const capSysPtrace = 19

// remedy words what a person can do about err, where they stand, in one line; "" if nothing
// is known.
func remedy(err error) string {
	var (
		permission *tracer.PermissionError
		traced     *tracer.TracedError
		zombie     *tracer.ZombieError
		kernel     *tracer.KernelThreadError
		old        *tracer.KernelError
		word       *tracer.WordSizeError
	)
	switch {
	case errors.As(err, &permission):
		return permissionRemedy(permission)
	case errors.As(err, &traced):
		if traced.Mutual {
			return "It is a debugger that holds this program: look at it from another one."
		}
		return fmt.Sprintf("A process has one tracer: end or detach process %d first (gdb: detach; strace: Ctrl-C).", traced.Tracer)
	case errors.As(err, &zombie):
		return fmt.Sprintf("It has no threads any more; its parent, process %d, has to wait for it: look at that one.", zombie.Parent)
	case errors.As(err, &kernel):
		return fmt.Sprintf("It has no user code; root can read /proc/%d/stack.", kernel.PID)
	case errors.As(err, &old):
		return "Linux 3.4 or newer is needed; in a container, a seccomp profile may refuse ptrace: allow it (docker run --cap-add SYS_PTRACE)."
	case errors.As(err, &word):
		return "Use the 64-bit build of fpstack."
	case errors.Is(err, tracer.ErrSelf):
		return "Run a second fpstack to look at this one."
	case errors.Is(err, tracer.ErrCoreDump):
		return "Wait until it is done; then look at the core file."
	}
	return ""
}

// permissionRemedy names the gate that most likely refused, the surest sign first.
func permissionRemedy(e *tracer.PermissionError) string {
	switch {
	case e.HidePID:
		return "/proc is mounted with hidepid: run as root, or as a member of the group that the mount names (gid=)."
	case e.HasCap(capSysPtrace) && e.SameUserNS != nil && !*e.SameUserNS:
		return "The process lives in another user namespace: run fpstack as root outside of it."
	case e.HasCap(capSysPtrace) && e.YamaScope == 3:
		return "kernel.yama.ptrace_scope is 3: nobody may attach until the next boot."
	case e.HasCap(capSysPtrace) && e.LSM != "" && e.LSM != "unconfined":
		return fmt.Sprintf("The security module refused (our label is %q): look in the audit log.", e.LSM)
	case e.UIDsDiffer:
		return fmt.Sprintf("The process belongs to uid %d and we are uid %d: run with sudo.", e.TargetUID, e.OwnUID)
	case e.Dumpable != nil && !*e.Dumpable:
		return "The process is not dumpable (it changed its ids, or asked for it by prctl): run with sudo."
	case e.MoreCaps:
		return "The process has capabilities that we have not: run with sudo, or in a container with --cap-add SYS_PTRACE."
	case e.YamaScope == 1:
		return "kernel.yama.ptrace_scope is 1, which lets only a parent attach: run with sudo, or set it to 0 (sudo sysctl kernel.yama.ptrace_scope=0)."
	case e.YamaScope >= 2:
		return fmt.Sprintf("kernel.yama.ptrace_scope is %d: run with sudo.", e.YamaScope)
	case e.Seccomp == 2:
		return "A seccomp filter is on us (a container?): start it with --cap-add SYS_PTRACE, or run fpstack on the host."
	}
	return "Run with sudo, or give CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE)."
}

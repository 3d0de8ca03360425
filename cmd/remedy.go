package cmd

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/fpstack/fpstack/doctor"
	"github.com/fpstack/fpstack/text"
	"github.com/fpstack/fpstack/tracer"
)

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
		unnamed    *unnamedError
		limit      *limitError
		foreign    *foreignProcError
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
		return kernelRemedy()
	case errors.As(err, &unnamed):
		return "A name is that of the program's file, in full, or the one that ps -e shows."
	case errors.As(err, &word):
		return "Use the 64-bit build of fpstack."
	case errors.As(err, &limit):
		return limit.remedy
	case errors.As(err, &foreign):
		return "Mount the /proc of this namespace (unshare --mount-proc, or mount -t proc proc /proc), or run fpstack outside of it."
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return filesRemedy(err)
	case errors.Is(err, tracer.ErrSelf):
		return "Run a second fpstack to look at this one."
	case errors.Is(err, tracer.ErrCoreDump):
		return "Wait until it is done; then look at the core file."
	}
	return ""
}

// permissionRemedy words the gate that refused, as doctor does.
func permissionRemedy(e *tracer.PermissionError) string {
	f := factsOf(e)
	if e.Seccomp == 2 { // asked now: the refusal may have come from a file of /proc
		refused := tracer.PtraceRefused()
		f.PtraceRefused = &refused
	}
	return refusal(f, place())
}

// refusal words the gate that refused us, in one line.
func refusal(f *doctor.Facts, at doctor.Place) string {
	g := doctor.Culprit(f, at)
	first, size := utf8.DecodeRuneInString(g.Says)
	return text.Message(string(unicode.ToUpper(first)) + g.Says[size:] + ". " + g.Remedy)
}

// factsOf is what is known of a refusal.
func factsOf(e *tracer.PermissionError) *doctor.Facts {
	f := &doctor.Facts{PID: e.PID, Comm: e.Comm, Exists: !e.HidePID, Hidden: e.HidePID, Refused: true,
		OwnUID: e.OwnUID, TargetUID: e.TargetUID, IDsDiffer: e.UIDsDiffer, Caps: e.OwnCaps, MoreCaps: e.MoreCaps,
		Dumpable: e.Dumpable, Yama: e.YamaScope, UserNS: e.SameUserNS, Seccomp: e.Seccomp, OwnLSM: e.LSM, HidePID: e.HidePID,
		FilesOwner: -1, CallRefused: e.CallRefused}
	if e.PID > 0 { // what the error has not, as it is now
		now := doctor.Look("/proc", e.PID)
		f.InitialUserNS, f.TargetLSM, f.HidePID, f.Release = now.InitialUserNS, now.TargetLSM, now.HidePID, now.Release
		f.FilesOwner = now.FilesOwner
		if f.UserNS == nil {
			f.UserNS = now.UserNS
		}
	}
	return f
}

// kernelRemedy tells an old kernel from a filter that refuses the system call to us.
func kernelRemedy() string {
	f := doctor.Look("/proc", os.Getpid())
	refused := tracer.PtraceRefused()
	f.PtraceRefused = &refused
	state, gate := doctor.Verdict(doctor.General(f, place()))
	if state != doctor.Closed {
		return "Linux 3.4 or newer is needed."
	}
	return gate.Remedy
}

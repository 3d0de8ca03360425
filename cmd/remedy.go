package cmd

import (
	"errors"
	"os"
	"syscall"

	"github.com/fpstack/fpstack/doctor"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/text"
	"github.com/fpstack/fpstack/tracer"
)

// remedy words what a person can do about err, where they are, in one line; "" if nothing
// is known.
func remedy(err error) string {
	var (
		permission *tracer.PermissionError
		old        *tracer.KernelError
		word       *tracer.WordSizeError
		unnamed    *unnamedError
		limit      *limitError
		empty      *emptyError
		thread     *unknownThread
		foreign    *procfs.ForeignError
		noDump     *nothingKept
	)
	switch facts := stateOf(err); {
	case facts != nil:
		return doctor.Culprit(facts, place()).Remedy
	case errors.As(err, &permission):
		return refusal(refusedFacts(permission), place())
	case errors.As(err, &old):
		_, gate := doctor.Verdict(doctor.General(readFacts(os.Getpid()), place()))
		if gate != nil {
			return gate.Remedy
		}
	case errors.As(err, &noDump):
		return ranBy(noDump.name)
	case errors.As(err, &unnamed):
		if by := ranBy(unnamed.name); by != "" {
			return by
		}
		return "A name is that of the program's file, in full, or the one that ps -e shows."
	case errors.As(err, &word):
		return "Use the 64-bit build of fpstack."
	case errors.As(err, &limit):
		return limit.remedy
	case errors.As(err, &empty):
		return empty.remedy
	case errors.As(err, &thread):
		return thread.remedy()
	case errors.As(err, &foreign):
		return "Mount the /proc of this namespace (unshare --mount-proc, or mount -t proc proc /proc), or run " +
			"fpstack outside of it."
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return filesRemedy(err)
	}
	return ""
}

// stateOf is what the tracer found that keeps a process from being sampled; nil if it is none of that.
func stateOf(err error) *doctor.Facts {
	var (
		traced *tracer.TracedError
		zombie *tracer.ZombieError
		kernel *tracer.KernelThreadError
	)
	switch {
	case errors.As(err, &traced):
		return &doctor.Facts{Exists: true, PID: traced.PID, Tracer: traced.Tracer, TracerName: traced.Name,
			Mutual: traced.Mutual}
	case errors.As(err, &zombie):
		return &doctor.Facts{Exists: true, PID: zombie.PID, Zombie: true, Parent: zombie.Parent}
	case errors.As(err, &kernel):
		return &doctor.Facts{Exists: true, PID: kernel.PID, Kernel: true}
	case errors.Is(err, tracer.ErrSelf):
		return &doctor.Facts{Exists: true, Self: true}
	case errors.Is(err, tracer.ErrCoreDump):
		return &doctor.Facts{Exists: true, Dumping: true}
	}
	return nil
}

// refusal words the gate that refused us, in one line.
func refusal(f *doctor.Facts, at doctor.Place) string { return text.Message(doctor.Refusal(f, at)) }

// refusedFacts is what is known now of a refusal.
func refusedFacts(e *tracer.PermissionError) *doctor.Facts {
	f := readFacts(e.PID)
	f.Refused, f.Hidden, f.CallRefused = true, e.Hidden, e.CallRefused
	return f
}

// readFacts reads what is known of us and of process pid, and asks the kernel whether it refuses ptrace itself to us.
func readFacts(pid int) *doctor.Facts {
	f := doctor.ReadFacts("/proc", pid)
	refused := tracer.PtraceRefused()
	f.PtraceRefused = &refused
	return f
}

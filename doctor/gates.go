package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

// process judges whether there is anything to sample.
func (f *Facts) process(place Place) Gate {
	g := Gate{Name: process, State: Open, Says: fmt.Sprintf("process %d is there", f.PID)}
	switch {
	case f.Hidden:
		g.Says = fmt.Sprintf("process %d exists, but /proc does not show it", f.PID)
	case !f.Exists:
		g.State, g.Says = Closed, fmt.Sprintf("there is no process %d here", f.PID)
		g.Remedy = "Look for its id with ps in the same container or pid namespace as fpstack."
	case f.Self:
		g.State, g.Remedy = Closed, "Run a second fpstack to sample this one."
	case f.Kernel:
		g.State, g.Says = Closed, fmt.Sprintf("process %d is a thread of the kernel", f.PID)
		g.Remedy = fmt.Sprintf("It has no user code; root can read /proc/%d/stack.", f.PID)
	case f.Zombie:
		g.State, g.Says = Closed, fmt.Sprintf("process %d has ended and waits for its parent, process %d",
			f.PID, f.Parent)
		g.Remedy = fmt.Sprintf("Look at process %d: it has to wait for it.", f.Parent)
	case f.Dumping:
		g.State, g.Says, g.Remedy = Closed, fmt.Sprintf("process %d is dumping core", f.PID),
			"Wait until it is done; then look at the core file."
	}
	return g
}

// kernel judges the release: PTRACE_SEIZE came with Linux 3.4.
func (f *Facts) kernel() Gate {
	g := Gate{Name: "kernel", Says: "Linux " + f.Release}
	major, rest, _ := strings.Cut(f.Release, ".")
	minor, _, _ := strings.Cut(rest, ".")
	ma, err := strconv.Atoi(major)
	mi, err2 := strconv.Atoi(strings.TrimRight(minor, "-+abcdefghijklmnopqrstuvwxyz"))
	switch {
	case err != nil || err2 != nil:
		g.State, g.Says = Unknown, "its release is not known"
	case ma < 3 || ma == 3 && mi < 4:
		g.State, g.Remedy = Closed, "Linux 3.4 or newer is needed."
	default:
		g.State = Open
	}
	return g
}

// systemCall judges whether a filter on us refuses ptrace itself.
func (f *Facts) systemCall(place Place) Gate {
	g := Gate{Name: seccomp, State: Absent, Says: "no filter is on us"}
	if f.Seccomp == 2 {
		g.State, g.Says = Open, "fpstack runs under a seccomp filter that allows ptrace"
	}
	switch {
	case f.PtraceRefused != nil && *f.PtraceRefused:
		g.State, g.Says = Closed, "the system call ptrace is refused to us, whatever its target"
		g.Remedy = place.allowPtrace()
	case f.Seccomp < 0, f.Seccomp == 2 && f.PtraceRefused == nil:
		g.State, g.Says = Unknown, "whether a filter refuses ptrace to us was not tried"
	}
	return g
}

// visible judges the mount options of /proc.
func (f *Facts) visible(place Place) Gate {
	g := Gate{Name: "hidepid", State: Absent, Says: "/proc shows every process"}
	switch {
	case f.Hidden && !f.HidePID:
		g.State, g.Says = Closed, "/proc does not show the process, and is not mounted with hidepid"
		g.Remedy = "Is /proc that of this pid namespace? (mount -t proc proc /proc)"
	case f.Hidden:
		g.State, g.Says = Closed, "/proc is mounted with hidepid and does not show the process"
		g.Remedy = "Run as root, or as a member of the group that the mount names (gid=)."
	case f.HidePID:
		g.State, g.Says = Open, "/proc is mounted with hidepid, but shows this process"
	}
	return g
}

// uid judges ids: all of the target's must be ours, or CAP_SYS_PTRACE makes up for it.
func (f *Facts) uid(place Place) Gate {
	g := Gate{Name: "uid", Says: fmt.Sprintf("the process has uid %d and we have uid %d", f.TargetUID, f.OwnUID)}
	switch {
	case f.TargetUID < 0:
		g.State, g.Says = Unknown, "the ids of the process are not known"
	case !f.IDsDiffer:
		g.State = Open
	case f.mayTrace():
		g.State, g.Says = Open, g.Says+", and CAP_SYS_PTRACE makes up for that"
	case f.TargetUID == f.OwnUID:
		g.State, g.Remedy = Closed, place.allowPtrace() // to become its user would change nothing
		g.Says = "an effective, saved or group id of the process is not ours"
	case f.IDsMixed:
		g.State, g.Remedy = Closed, place.allowPtrace()
		g.Says += "; it has others besides, so that no user may trace it by its id"
	default:
		g.State, g.Remedy = Closed, place.becomeUser(f.TargetUID)
	}
	return g
}

// Capability is the name of the gate that is open if we have CAP_SYS_PTRACE.
const Capability = "capability"

// The names of gates that decide whether that capability helps.
const process, seccomp = "process", "seccomp"

// capability says whether we have CAP_SYS_PTRACE. It refuses nothing by itself.
func (f *Facts) capability(Place) Gate {
	if f.mayTrace() {
		return Gate{Name: Capability, State: Open, Says: "CAP_SYS_PTRACE is effective"}
	}
	return Gate{Name: Capability, State: Absent, Says: "CAP_SYS_PTRACE is not effective: only our own processes may " +
		"be sampled"}
}

// outsideNamespaces is the remedy where our capabilities do not count.
const outsideNamespaces = "Run fpstack as root outside of all user namespaces, or inside the one of the process " +
	"(nsenter -U -t PID)."

// userNamespace judges where our capabilities count.
func (f *Facts) userNamespace(place Place) Gate {
	g := Gate{Name: "user namespace", State: Open, Says: "the process is in our user namespace"}
	switch {
	case f.UserNS == nil && f.Refused && f.capable() && f.InitialUserNS != nil && !*f.InitialUserNS:
		// Inside ours, or below, CAP_SYS_PTRACE would have let us in.
		g.State, g.Says = Closed, "our capabilities count inside our user namespace alone, and the process is not in it"
		g.Remedy = outsideNamespaces
	case f.UserNS == nil:
		g.State, g.Says = Unknown, "whether the process is in our user namespace is not known"
	case *f.UserNS:
	case f.mayTrace():
		g.Says = "the process is in a user namespace below ours, where our capabilities count"
	default:
		g.State, g.Says = Unknown, "the process is in another user namespace: only who made it, or has CAP_SYS_PTRACE "+
			"in one above it, may trace it"
		g.Remedy = outsideNamespaces
		if f.Refused {
			g.State = Closed
		}
	}
	return g
}

// pidNamespace reports ids that differ. It refuses nothing.
func (f *Facts) pidNamespace() Gate {
	g := Gate{Name: "pid namespace", State: Open, Says: "the process is in our pid namespace"}
	switch {
	case f.PIDNS == nil:
		g.State, g.Says = Absent, "whether the process is in our pid namespace is not known, and does not matter"
	case !*f.PIDNS:
		g.Says = "the process is in a pid namespace below ours: inside it, it has another id"
	}
	return g
}

// dumpable judges the attribute that setuid programs lose.
func (f *Facts) dumpable(place Place) Gate {
	g := Gate{Name: "dumpable", State: Open, Says: "the process is dumpable"}
	switch {
	case f.mayTrace():
		g.Says = "CAP_SYS_PTRACE allows processes that are not dumpable too"
	case f.Dumpable == nil && !f.IDsDiffer && f.TargetUID >= 0:
		g.State, g.Says = Unknown, "whether the process is dumpable is not known"
	case f.Dumpable == nil:
		g.State, g.Says = Absent, "whether the process is dumpable is not known; the ids refuse already"
	case !*f.Dumpable:
		g.State, g.Says = Closed, "the process is not dumpable: it changed its ids, or set that by prctl"
		g.Remedy = place.allowPtrace() // its own user may not either
	}
	return g
}

// moreCapabilities judges the check that a process with more rights than we have is not traced.
func (f *Facts) moreCapabilities(place Place) Gate {
	switch {
	case f.UserNS != nil && !*f.UserNS:
		return Gate{Name: "capabilities of the process", State: Absent,
			Says: "they are compared inside one user namespace alone"}
	case !f.MoreCaps:
		return Gate{Name: "capabilities of the process", State: Open, Says: "the process has none that we have not"}
	case f.mayTrace():
		return Gate{Name: "capabilities of the process", State: Open,
			Says: "the process has more than we, and CAP_SYS_PTRACE makes up for that"}
	}
	return Gate{Name: "capabilities of the process", State: Closed,
		Says:   "the process is permitted capabilities that we have not",
		Remedy: place.allowPtrace()}
}

// files judges the files of /proc that its user alone may read. CAP_SYS_PTRACE does not open them; of what they hold
// only the memory is needed, and process_vm_readv reads that too.
func (f *Facts) files(place Place) Gate {
	g := Gate{Name: "files of /proc", State: Open, Says: "its files in /proc may be read"}
	switch {
	case f.FilesOwner < 0:
		g.State, g.Says = Unknown, "who owns its files in /proc is not known"
	case f.FilesOwner == f.OwnUID, f.has(capDACReadSearch), f.has(capDACOverride):
	case !f.mayTrace():
		g.State, g.Says = Absent, "its files in /proc are not ours to read; the gates above refuse already"
	case f.CallRefused:
		g.State, g.Remedy = Closed, place.readFiles()
		g.Says = fmt.Sprintf("its memory in /proc is for uid %d alone, CAP_SYS_PTRACE does not open it, and a filter "+
			"refuses process_vm_readv to us", f.FilesOwner)
	default:
		g.Says = fmt.Sprintf("some of its files in /proc are for uid %d alone, and CAP_SYS_PTRACE does not open them: "+
			"memory is read by process_vm_readv, "+
			"open files stay without names (CAP_DAC_READ_SEARCH reads them)", f.FilesOwner)
	}
	return g
}

// yama judges kernel.yama.ptrace_scope.
func (f *Facts) yama(place Place) Gate {
	g := Gate{Name: "Yama", State: Open, Says: fmt.Sprintf("the sysctl kernel.yama.ptrace_scope is %d", f.Yama)}
	switch {
	case f.Yama < 0:
		g.State, g.Says = Absent, "the kernel has no Yama"
	case f.Yama == 0:
	case f.Yama >= 3:
		g.State, g.Remedy = Closed, "Nobody may attach until the next boot; set it to less at boot (sysctl.d)."
	case f.mayTrace():
		g.Says += ", which CAP_SYS_PTRACE passes"
	case f.Yama == 1 && f.Descendant != nil && *f.Descendant:
		g.Says += ", and the process descends from us"
	case f.Yama == 1:
		g.State, g.Says = Closed, g.Says+": only an ancestor may attach, or whom the process names (PR_SET_PTRACER)"
		g.Remedy = place.relaxYama()
	default:
		g.State, g.Says, g.Remedy = Closed, g.Says+": only CAP_SYS_PTRACE may attach", place.allowPtrace()
	}
	return g
}

// securityModule judges our label. What a policy allows cannot be read, so that a label of our own that confines makes
// it unknown; equal labels too: to trace their own kind is a rule that profiles of containers have and others have not.
// AppArmor's profile of the process confines nobody who has none.
//
// Source: aa_may_ptrace in linux/security/apparmor/ipc.c (6.1).
func (f *Facts) securityModule(place Place) Gate {
	label, target := strings.TrimSpace(f.OwnLSM), strings.TrimSpace(f.TargetLSM)
	switch {
	case label == "", strings.HasPrefix(label, "unconfined"):
		return Gate{Name: "security module", State: Absent, Says: "no security module confines us"}
	case strings.HasSuffix(label, " (complain)"):
		return Gate{Name: "security module", State: Open,
			Says: fmt.Sprintf("our label is %q, which refuses nothing", label)}
	}
	g := Gate{Name: "security module", State: Unknown, Remedy: place.leavePolicy(label),
		Says: fmt.Sprintf("our label is %q, that of the process %q", label, target)}
	switch target {
	case "":
		g.Says = fmt.Sprintf("our label is %q, that of the process is not known", label)
	case label:
		g.Says = fmt.Sprintf("we and the process have the label %q", label)
	}
	return g
}

// tracer judges whether the one place of a tracer is taken.
func (f *Facts) tracer() Gate {
	g := Gate{Name: "tracer", State: Open, Says: "nobody traces the process"}
	switch {
	case f.Mutual:
		g.State, g.Says = Closed, "the process traces us"
		g.Remedy = "It is a debugger that holds this program: look at it from another one."
	case f.Tracer < 0:
		g.State, g.Says = Unknown, "whether the process is traced is not known"
	case f.Tracer > 0:
		g.State, g.Says = Closed, fmt.Sprintf("the process is traced by process %d (%s)", f.Tracer, f.TracerName)
		g.Remedy = fmt.Sprintf("A process has one tracer: end or detach process %d first (gdb: detach; "+
			"strace: Ctrl-C). A dump shows what sleeps without a stop.", f.Tracer)
	}
	return g
}

// Package doctor reports whether one process may trace another, gate by gate: which of the
// kernel's checks lets us through, which refuses, and what a person can do about it where they
// work (a shell with sudo, Docker, Kubernetes, systemd, a CI runner).
//
// The caller gives the facts, or lets [ReadFacts] read them from a proc file system. Nothing is
// stopped, nothing is changed and no system call of ptrace is made here.
//
// It guarantees that a gate whose facts cannot be read is reported as unknown, never as open.
//
// Sources: __ptrace_may_access in linux/kernel/ptrace.c; ptrace(2), "Ptrace access mode
// checking"; linux/security/yama/yama_lsm.c; cap_ptrace_access_check in
// linux/security/commoncap.c; proc(5), "hidepid".
package doctor

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// State says what a gate does to us.
type State uint8

// The states of a gate.
const (
	Unknown State = iota // its facts could not be had
	Open                 // it lets us through
	Closed               // it refuses
	Absent               // it does not exist here
)

var stateNames = [...]string{"unknown", "open", "closed", "absent"}

func (s State) String() string { return stateNames[s] }

// Gate is one check of the kernel, or one state of the process, with what it does to us.
type Gate struct {
	Name   string // one or two words, as "uid" or "user namespace"
	State  State
	Says   string // the facts, as "the process has uid 1000 and we have uid 0"
	Remedy string // what to do, "" if nothing has to be done
}

// Facts are what is known of us and of the process. A pointer that is nil, a number that is -1
// and a text that is empty were not to be had.
type Facts struct {
	PID     int
	Comm    string
	Exists  bool // /proc shows it
	Hidden  bool // it lives, but /proc does not show it
	Self    bool
	Zombie  bool
	Parent  int  // of a zombie
	Kernel  bool // a thread of the kernel
	Dumping bool // it is dumping core

	OwnUID, TargetUID int // real ids
	IDsDiffer         bool
	IDsMixed          bool   // those of the process differ from each other, as a setuid program's do
	Caps              uint64 // our effective capabilities
	MoreCaps          bool   // the process is permitted capabilities that we have not
	FilesOwner        int    // of its files in /proc, -1 unknown
	CallRefused       bool   // process_vm_readv was refused to us, and ptrace is not
	Dumpable          *bool
	Yama              int   // kernel.yama.ptrace_scope, -1 where there is no Yama
	Descendant        *bool // the process descends from us
	UserNS, PIDNS     *bool // the process is in the same namespace as we
	InitialUserNS     *bool // ours is that of the machine, which all others are below
	Seccomp           int   // mode of ourselves, 2 is a filter
	PtraceRefused     *bool // the system call itself is refused to us, whatever its target
	OwnLSM, TargetLSM string
	Tracer            int // its id, 0 for none, -1 if unknown
	TracerName        string
	Release           string // of the kernel, as "6.1.0-18-amd64"
	HidePID           bool   // /proc is mounted so that it hides processes of others
	Mutual            bool   // the process traces us
	Refused           bool   // the kernel refused us: not every gate is open
}

// Capabilities of capabilities(7).
const (
	capDACOverride   = 1
	capDACReadSearch = 2
	capSysPtrace     = 19
)

// capable reports whether CAP_SYS_PTRACE is effective for us in our user namespace.
func (f *Facts) capable() bool { return f.has(capSysPtrace) }

// has reports whether a capability is effective for us.
func (f *Facts) has(capability int) bool { return f.Caps>>capability&1 == 1 }

// mayTrace reports whether CAP_SYS_PTRACE is effective for us where the process lives: in our user
// namespace or in one below it. Where neither is known it is taken to be so.
func (f *Facts) mayTrace() bool {
	switch {
	case !f.capable():
		return false
	case f.UserNS != nil && *f.UserNS, f.InitialUserNS != nil && *f.InitialUserNS:
		return true
	}
	return f.UserNS == nil && f.InitialUserNS == nil
}

// Judge returns all gates, those of the process first, in the order in which the kernel asks.
func Judge(f *Facts, place Place) []Gate {
	gates := []Gate{f.process(place), f.kernel(), f.systemCall(place), f.visible(place)}
	if !f.Exists {
		return gates
	}
	gates = append(gates, f.uid(place), f.capability(place), f.userNamespace(place), f.pidNamespace(),
		f.dumpable(place), f.moreCapabilities(place), f.yama(place), f.files(place), f.securityModule(place),
		f.tracer())
	if f.Refused && culprit(gates) == nil {
		gates = append(gates, f.unexplained(place))
	}
	return gates
}

// General returns the gates that do not depend on a process: what we may do at all.
func General(f *Facts, place Place) []Gate {
	any := *f
	yes := true
	any.TargetUID, any.IDsDiffer, any.Descendant, any.UserNS = f.OwnUID, false, nil, &yes
	return []Gate{any.kernel(), any.systemCall(place), any.visible(place), any.capability(place), any.yama(place)}
}

// Verdict is the worst state of the gates, and the first gate that has it: Closed before
// Unknown before Open.
func Verdict(gates []Gate) (State, *Gate) {
	for _, s := range []State{Closed, Unknown} {
		for i := range gates {
			if gates[i].State == s {
				return s, &gates[i]
			}
		}
	}
	return Open, nil
}

// Culprit is the gate that most likely refused us: the first that is closed, else the first that
// is not known and has a remedy, else one that says that no reason was found. Precondition:
// f.Refused.
func Culprit(f *Facts, place Place) Gate { return *culprit(Judge(f, place)) }

// culprit is nil if no gate explains that we were refused.
func culprit(gates []Gate) *Gate {
	if state, g := Verdict(gates); state == Closed {
		return g
	}
	for i := range gates {
		if gates[i].State == Unknown && gates[i].Remedy != "" {
			return &gates[i]
		}
	}
	return nil
}

// unexplained is the gate of a refusal that no other gate explains.
func (f *Facts) unexplained(place Place) Gate {
	g := Gate{Name: "answer", State: Closed,
		Says: "the kernel refused for a reason that cannot be seen from here", Remedy: place.allowPtrace()}
	if f.capable() { // to ask for it would not help
		g.Remedy = "CAP_SYS_PTRACE is effective already: the process may be of a user namespace outside of " +
			"ours, or a security module refuses; run fpstack on the host."
	}
	return g
}

// RightHelps reports whether CAP_SYS_PTRACE, or no filter on ptrace, may open what refuses: not if there is no such
// process, or if we have both.
func RightHelps(gates []Gate) bool {
	has := func(name string, s State) bool {
		return slices.ContainsFunc(gates, func(g Gate) bool { return g.Name == name && g.State == s })
	}
	return !has(process, Closed) && (!has(Capability, Open) || has(seccomp, Closed))
}

// Refusal is what the Culprit says and what to do about it, as a sentence or two. It may hold any bytes of the target.
// Precondition: f.Refused.
func Refusal(f *Facts, place Place) string {
	g := Culprit(f, place)
	first, size := utf8.DecodeRuneInString(g.Says)
	return string(unicode.ToUpper(first)) + g.Says[size:] + ". " + g.Remedy
}

package profile

import "strings"

// RuntimeThread is what the runtime of a language knows of one of its threads.
type RuntimeThread struct {
	Language string // "Python"
	ID       uint64 // that the language has for it, 0 for none
	Name     string // that the program gave it, "" for none; any bytes
	// State is what the runtime says that it does, in words: "in Java"; "" if it does not.
	State string
	// Facts are what it does, each for a person: "holds the GIL".
	Facts []string
	// HeldBy is the thread that holds what it waits for and is in a system call meanwhile, 0 for none.
	HeldBy int
}

// OwnName is what t is called: by its language, where that has a name for it.
func (t *Thread) OwnName() string {
	if t.Runtime != nil && t.Runtime.Name != "" {
		return t.Runtime.Name
	}
	return t.Name
}

// InCall ends a fact that names a thread which is in a system call, until that call is named: see Dump.NameCalls.
const InCall = " in a system call"

// WaitFact begins a fact that says what the thread waits for.
const WaitFact = "waits for "

// IsWaitFact reports whether a fact says what its thread waits for.
func IsWaitFact(fact string) bool { return strings.HasPrefix(fact, WaitFact) }

// NameCalls puts the system calls of threads that hold what others wait for into the facts of those.
func (d *Dump) NameCalls() {
	calls := map[int]string{}
	for i := range d.Threads {
		if c := d.Threads[i].Syscall; c != nil && c.Name != "" {
			calls[d.Threads[i].TID] = c.short()
		}
	}
	for i := range d.Threads {
		r := d.Threads[i].Runtime
		if r == nil || r.HeldBy == 0 || calls[r.HeldBy] == "" {
			continue
		}
		for k, fact := range r.Facts {
			if rest, ok := strings.CutSuffix(fact, InCall); ok {
				r.Facts[k] = rest + " in " + calls[r.HeldBy]
			}
		}
	}
}

// short is the name of the call, with its first argument where that is a descriptor.
func (c *Syscall) short() string {
	if len(c.Args) == 0 || c.Args[0].FD == "" {
		return c.Name
	}
	return c.Name + "(" + c.Args[0].Text + "<" + c.Args[0].FD + ">)"
}

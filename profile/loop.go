package profile

import (
	"slices"
	"time"
)

// Loop is an event loop that a thread waits in, and what it waits for.
type Loop struct {
	// Handles are what the loop waits for, with or without an end in sight.
	Handles []Handle
	// Requests is how many requests of the loop other threads or the kernel work on: lookups of names, files,
	// connections that are being made.
	Requests int
	// Problem says why Handles may miss some; "" mostly.
	Problem string
}

// Called lists the functions that handles of l call; l may be nil.
func (l *Loop) Called() (calls []Call) {
	if l != nil {
		for i := range l.Handles {
			calls = append(calls, l.Handles[i].Calls...)
		}
	}
	return calls
}

// serves reports whether somebody asked l for something, or that is not known.
func (l *Loop) serves() bool {
	return l != nil && (l.Requests > 0 || l.Problem != "" ||
		slices.ContainsFunc(l.Handles, func(h Handle) bool { return !h.Internal }))
}

// HandleAsync is the Kind of a Handle by which other threads of the process wake the loop.
const HandleAsync = "async"

// Handle is one thing that a Loop waits for.
type Handle struct {
	Kind string // as the loop's library calls it: "tcp", "timer"
	// Keeps says that the loop does not end as long as the handle is there.
	Keeps bool
	// Internal says that it belongs to the runtime or the library, and that no program has asked for it.
	Internal bool
	FD       int    // descriptor, -1 for none
	File     string // what the descriptor is, "" if not known
	// Detail is what else tells it from others of its kind: a signal, a process, a path.
	Detail string
	// In is when it happens, seen from the time of the dump, if HasIn: below 0 where it is late.
	In    time.Duration
	HasIn bool
	Every time.Duration // how often it happens, 0: once
	// Object is the class of the object that the program has of it, "" if not known.
	Object string
	// Calls are the functions that are called when it happens.
	Calls []Call
}

// Call is a function that is called when something happens.
type Call struct {
	Event string // as the program calls it: "request"; "" where there is one
	Func  string // "<anonymous>" for one without a name
	File  string
	Line  int // 0 if not known
	// Async says that the function is async, and goes on then.
	Async bool
	// Generated is as [Frame.Generated].
	Generated bool
}

package waits

import "github.com/fpstack/fpstack/mem"

// Lock is a lock of a runtime that the words of libc do not show the owner of: an interpreter's lock, a monitor. A
// runtime lists those that threads wait for, by what it reads of the process; see vm.LockLister.
type Lock struct {
	// Name is what a person calls it: "the GIL", "the monitor of java.lang.Object 0x7f…".
	Name string
	// Kind is what it is, if it is no lock; the zero Kind: a lock.
	Kind Kind
	// Number tells it from the other locks of the process.
	Number uint64
	// Futexes is where the words are that its waiters sleep on, as a mutex and condition variable of the lock; each
	// thread that waits on a futex in it waits for the lock. Empty: Waiters lists them.
	Futexes mem.Span[mem.Addr]
	Waiters []int // ids of threads
	// Owner is the id of the thread that holds it, 0 if nobody does or if that is not known.
	Owner int
	// Retries says that its waiters wake now and then and wait again, as for CPython's GIL; they may sleep in between.
	Retries bool
	// Ends says that its waiters wait for the end of the thread Owner, as their stacks show: nothing is held.
	Ends bool
	// Gone says that it is held, or waited for, and that the process has no such thread.
	Gone bool
	// Instant says that all was read while the threads of the process were stopped at one instant.
	Instant bool
	// Note is what else a person must know; "" mostly.
	Note string
	// Evidence says what that was read from, as "_PyRuntime.gil.last_holder 0x7f…".
	Evidence string
}

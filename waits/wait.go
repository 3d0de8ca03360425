package waits

import (
	"time"

	"github.com/fpstack/fpstack/mem"
)

// Key is the identity of an Object: two waits are for the same object if their keys are equal. The zero Key is of no
// object.
type Key struct {
	Class Class
	// A, B and C are, by Class: Private: Process.Space, address; Shared: device, inode, offset; Pipe and Socket: inode;
	// File: device, inode; FileRange: device, inode, start; Child: process id; Event: eventfd-id; Runtime: pid, number.
	A, B, C uint64
}

// Class is the space of keys that an object belongs to.
type Class uint8

// The classes of objects.
const (
	NoObject  Class = iota
	Private         // a futex or word in the memory of one process
	Shared          // a futex in memory that processes share
	Pipe            // also a FIFO
	Socket          // a socket of this machine
	File            // another file, and a lock on a whole file
	FileRange       // a lock on a part of a file
	Child           // a process or thread whose end is waited for
	Event           // eventfd, timerfd, inotify and their like
	Runtime         // a lock of a runtime
)

// Object is what is waited for.
type Object struct {
	Kind Kind
	Key  Key
	Addr mem.Addr // in the memory of who waits, 0 if it is not there
	// Name says which one, for a person: "pipe:[123]", "/var/lock/x bytes 0-99", "tcp 127.0.0.1:80 -> …". Any bytes;
	// "" if Kind and Addr say all.
	Name string
}

// Mode is what must happen for a wait to end.
type Mode uint8

// The modes of waits.
const (
	Unknown Mode = iota // not known what ends it
	One                 // Wakers[0] must act: it owns the object
	All                 // every one of Wakers must act: a writer behind readers
	Any                 // one of Wakers may act
	Time                // it ends by itself
	Outside             // somebody outside of the machine or of what is known ends it: a network, a terminal, a signal
	Idle                // a runtime keeps the thread for work to come
)

// Waker is who can end a wait: a thread, or any thread of a process where TID is 0.
type Waker struct{ PID, TID int }

// Certainty is how sure an edge is. The higher the surer.
type Certainty uint8

// How sure an edge is.
const (
	Possible Certainty = iota // one of several, as the holders of a pipe
	Inferred                  // from a stack or from names
	Shown                     // a word in memory has the owner, read once
	Proven                    // the same, and neither end ran between the readings around it
)

// Part is one of several descriptors that are waited for.
type Part struct {
	FD      int
	Object  Object
	Peer    string
	Listens bool
	Own     bool // only the process itself has its other end
	Made    bool // of a connection that the process asked for itself
	Wakers  []Waker
	Socket  *Endpoint // nil for what is no socket
}

// maxParts bounds the parts of a wait that are kept.
const maxParts = 32

// Wait is what one thread waits for.
type Wait struct {
	TID    int
	Object Object
	Mode   Mode
	Wakers []Waker
	// Unlisted says why Wakers does not have all who could end it; "" if it has.
	Unlisted string
	// Timed says that it ends by itself; Left is how long that takes still, if HasLeft says that it is known.
	Timed, HasLeft bool
	Left           time.Duration
	// Length is how long a wait was to last at most of which it is not known when it began; 0 of others.
	Length time.Duration
	// Retries says that the thread wakes by itself now and then and waits again.
	Retries   bool
	Certainty Certainty
	// Below is the lock wait that a signal handler interrupted, which goes on when that has returned; nil mostly.
	Below *Wait
	// With is the mutex that a condition variable's waiter will take, 0 if unknown.
	With mem.Addr
	// Lost is the id of the owner where no thread of that id can unlock it: it has exited, or it is one of the process
	// that this one was forked from, if Forked says so. 0 mostly.
	Lost   int
	Forked bool
	// Listens says that somebody who connects ends it too.
	Listens bool
	// Peer is the address of the other end of a connection, as "10.0.0.7:5432" or a path; "" for none.
	Peer string
	// Made says that it is a connection that the process asked for itself.
	Made bool
	// Socket is the socket that it waits at, nil for what is none.
	Socket *Endpoint
	// Children are processes whose end a handler of SIGCHLD would tell, whatever else the thread waits for.
	Children []int
	// Handled are the signals that the program has handlers for, which may end the wait, bit n-1 for signal n; Alarm
	// says that one may come by itself: a timer may be set.
	Handled uint64
	Alarm   bool
	// Set are the descriptors of which it waits for one, the first maxParts.
	Set []Part
	// Note is what else a person must know: "locked when the process was forked, never unlocked here". "" mostly.
	Note string
	// Evidence is what the wait was seen by, each a phrase: "futex word 0x2", "owner word 812".
	Evidence []string

	awaited uint64   // the signals that it waits for by name: of sigwait, a signalfd
	word    mem.Addr // that has the owner, 0 for none
	instant bool     // the lock is one of a runtime that is Instant
	near    bool     // others that may have its other end were not looked for: see Facts.Near
}

// Package early is what happens before Go's runtime: that reserves addresses before any code of Go runs, and where a
// limit leaves less (RLIMIT_AS; ulimit -v, LimitAS=) it ends the program with a trace of its own.
//
// scripts/build makes it the entry of the program, where the architecture has one here (amd64). Where less than 850 MiB
// are left it says so on standard error, and ends with status 2. With 1,100 to 1,400 MiB the runtime may get its
// reservations and then no memory; with less it does without one of them and can run, so that code of ours can
// tell what is wrong: the soft limit is lowered until [Restore].
//
// It also notes what the runtime changes and a program that this one starts is to have as it was: standard files
// that are
// closed, which the runtime opens, and ignored signals, which it takes over ([Closed], [Ignored]).
//
// Sources: runtime/mpagealloc_64bit.go, runtime/fds_unix.go, initsig in runtime/signal_unix.go, getrlimit(2), linker
// option -E.
package early

// lowered is the soft limit that was there, bytes; 0 if it was not changed.
var lowered uint64

// tooLittle is what is said; the runtime cannot say it.
//
//lint:ignore U1000 the assembly reads it
var tooLittle = "fpstack: the address space is limited to less than 850 MB, and fpstack reserves 1400\n" +
	"  Run it without that limit: (ulimit -v unlimited; fpstack …), or without LimitAS= in the unit. " +
	"It reserves addresses, not memory.\n"

// closed are the standard files that were closed, bit n for descriptor n; ignored are the signals that were ignored,
// bit n for signal n. The assembly writes them.
var closed, ignored uint64

// Closed reports whether descriptor fd, 0 to 2, was closed when the program began. Where the entry of the program is
// not ours that is not known, and false.
func Closed(fd int) bool { return closed>>fd&1 != 0 }

// Ignored reports whether signal s, 1 to 31, was ignored when the program began, as far as Closed knows.
func Ignored(s int) bool { return ignored>>s&1 != 0 }

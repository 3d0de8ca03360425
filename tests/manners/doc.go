// Package manners holds tests alone: it inspects running programs over and over, with the
// fpstack command and with package tracer, and finds out whether they notice.
//
// A program that is inspected must not lose a signal, get one twice or one that nobody
// sent; must not see a call end early that would not have; must still be stopped if it was
// stopped, and run if it ran; and none of this may depend on how fpstack ends. Its parent
// must hear of each stop, each continuation and its end exactly once. And fpstack must come
// back in time, whatever the program is stuck in.
//
// docs/dev/manners.md says what is promised and which test holds it. FPSTACK_SOAK=1 makes the
// runs long, FPSTACK_SOAK=million one of them very long.
//
// The programs of testdata/live must have been built by scripts/build-live; those of
// testdata here are built by the tests with gcc. A test whose program is not there skips
// and says so.
//
// Sources: ptrace(2), wait(2), signal(7), cgroups(7), userfaultfd(2), core(5).
package manners

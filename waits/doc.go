// Package waits works out who waits for whom: which lock, descriptor, process or time a blocked thread waits for, who
// could end that, which of these waits form a cycle, and what the others wait for in the end.
//
// It is given [Facts], what /proc and the memory of processes show without stopping them, and stops and opens nothing
// itself: [Study] says of facts what each thread waits for and what it would have to read to say more, and [Examine]
// reads by a [Source] until there is nothing more to read. [Join] makes the graph.
//
// An edge is only called proven when the threads at both of its ends did not run between the first and the last of the
// readings it rests on: what a thread that did not run holds, it held all that time (see [Certainty]). A reader count,
// the address of a futex or the last process that used a semaphore is never made an owner.
//
// What it reads was written by targets: every loop has a bound, nothing panics, and names are any bytes that who shows
// them escapes.
//
// Sources: futex(2), proc(5), linux/kernel/futex, glibc nptl, musl src/thread; where a layout is used it is named.
package waits

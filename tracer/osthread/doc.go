// Package osthread keeps an OS thread that makes ptrace requests: where it comes from, what ends its system calls,
// when it comes before others, and what becomes of a panic on it.
//
// A [Thread] is used by one goroutine at a time, by [Thread.Do]; what it has is touched on it alone. It knows
// nothing of the threads that are traced.
//
// Sources: ptrace(2), timer_create(2), sched(7), signal(7).
package osthread

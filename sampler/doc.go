// Package sampler records where the threads of running processes spend their time: it samples
// at them again and again, walks what it sees, and counts stacks.
//
// The caller names processes ([Recorder.Add]), lets [Recorder.Run] run, and asks for what was
// seen with [Recorder.Take], at the end or as often as it likes meanwhile.
//
// It guarantees that a thread which did not run since the last sample is not touched again, that
// no thread is stopped longer than the copy of its registers and stack takes, that the wall time
// of a thread's stacks sums to the time it was followed, and that memory has a bound whatever
// the target does. What could not be seen is counted and reported.
//
// One goroutine on an OS thread of its own samples and copies; another walks and counts, behind
// a queue with a bound. Names are looked up in Take alone.
//
// Where to begin to read: sample_tick.go makes a round. Files named schedule_ say when a thread is sampled, follow_
// which processes and threads there are, sample_ how one is sampled: all of them belong to the goroutine that samples.
// Files named account_ say whose the time is: they belong to the goroutine that counts. recorder.go and take.go join
// the two; system.go is the machine as both see it, live.go the real one.
//
// docs/dev/sampling.md shows how a sample goes, how time is counted, and what it costs.
package sampler

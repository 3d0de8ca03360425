// Package capture makes the moments of a [hang.Case]: at each it reads the counters of all threads, has every process
// sampled, leaves of the tree first, and reads the counters again when its threads are back to what they did.
//
// The caller provides who samples a process, a [Sampler]. Capture decides when, in which order, and when it is enough:
// a process has a bound, and so has the whole. What is finished is told at once, so that a case that is cut off is not
// lost. What could not be had is in [hang.Case.Problems].
//
// It stops nothing itself, and judges nothing.
package capture

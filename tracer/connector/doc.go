// Package connector reports which threads and processes of the machine begin and end, as the kernel's process events
// connector tells who listens. It begins at [Open].
//
// It is not for one process in particular, and stops nobody.
package connector

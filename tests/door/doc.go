// Package door proves the door for runtimes with a toy: a program that writes its own code and interprets its own
// frames, and a runtime for it, in a dump, in a recording, of a sleeper that is not stopped, and from a recorded
// snapshot.
package door

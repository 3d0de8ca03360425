package early

// Deepen gives the goroutine that calls it a stack of 64 KiB at once. That of main grows to this in every dump, each
// time by a copy of all frames, for which tables all over the program are read: a megabyte of its pages. What is not
// used of the stack takes no memory.
func Deepen()

package waits

// Files is what is known of the descriptors, sockets and file locks of the processes, and of those on their other ends.
type Files struct{}

// FileNeed is what is to be read next of descriptors, sockets and file locks.
type FileNeed struct{}

func (n *FileNeed) empty() bool { return true }

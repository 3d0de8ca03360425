package waits

// number is the number of the system call that t is blocked in, in the table of the architecture of its program; also
// where /proc shows restart_syscall. It is false if that cannot be known.
func (s *study) number(t *Thread) (int64, bool) { return t.First.Call.Number, true }

// call says what a thread waits for that is blocked in another system call than a futex's: in w, which has TID and an
// Unknown mode. It adds to s.need what it would have to read to say more; it is called again when that was read.
func (s *study) call(t *Thread, w *Wait) {
	w.Object = Object{Kind: "system call"}
}

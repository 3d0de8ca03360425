package waits

// call says what a thread waits for that is blocked in another system call than a futex's: in w, which has TID and an
// Unknown mode. It adds to s.need what it would have to read to say more; it is called again when that was read.
func (s *study) call(t *Thread, w *Wait) {
	w.Object = Object{Kind: "system call"}
}

package waits

// futexCall reports whether t is blocked in a call of the futex family.
// Source: futex(2), and the tables of numbers in linux/arch: amd64 202, futex_waitv 449, futex_wait 455; 386 240 and
// 422 (futex_time64).
func (s *study) futexCall(t *Thread) bool {
	n, ok := s.number(t)
	if !ok {
		return false
	}
	switch t.Process.Arch {
	case "amd64":
		return n == 202 || n == 449 || n == 455
	case "386":
		return n == 240 || n == 422 || n == 449 || n == 455
	case "arm64":
		return n == 98 || n == 449 || n == 455
	}
	return false
}

// futex says what t waits for in a call of the futex family.
func (s *study) futex(t *Thread, w *Wait) {
	w.Object = Object{Kind: "futex"}
}

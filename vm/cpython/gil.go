package cpython

const (
	gilOffset = 8  // in struct _gil_runtime_state, of last_holder
	gilSize   = 16 // last_holder and locked
)

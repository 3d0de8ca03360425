package early

import (
	"testing"
	"unsafe"
)

// descend uses some 100 bytes of stack for each step.
func descend(n int) int {
	var room [8]int
	room[n&7] = n
	if n == 0 {
		return 0
	}
	return descend(n-1) + room[n&7]
}

// moved reports whether the stack of a new goroutine is moved while it grows by 200 frames, 16 KiB.
func moved(first func()) bool {
	c := make(chan bool)
	go func() {
		var here int
		first()
		before := uintptr(unsafe.Pointer(&here))
		descend(200)
		c <- before != uintptr(unsafe.Pointer(&here))
	}()
	return <-c
}

// TestDeepen: a goroutine that has called Deepen keeps its stack where it is.
func TestDeepen(t *testing.T) {
	if moved(Deepen) {
		t.Error("the stack was moved behind Deepen")
	}
	if !moved(func() {}) {
		t.Skip("the stack of a new goroutine is as large without it")
	}
}

package profile

import "testing"

// TestNameCalls: who waits for a thread in a system call is told which, with its descriptor.
func TestNameCalls(t *testing.T) {
	waiter := func(by int) *RuntimeThread {
		return &RuntimeThread{Facts: []string{"waits for the GIL, held by 7" + InCall}, HeldBy: by}
	}
	d := Dump{Threads: []Thread{
		{TID: 7, Syscall: &Syscall{Name: "read", Args: []Arg{{Text: "3", FD: "pipe:[1]"}}},
			Runtime: &RuntimeThread{Facts: []string{"holds the GIL" + InCall}}},
		{TID: 8, Runtime: waiter(7)}, {TID: 9, Runtime: waiter(10)}, {TID: 10, Syscall: &Syscall{Number: 999}}, {TID: 11},
	}}
	d.NameCalls()
	for i, want := range []string{"holds the GIL in a system call", "waits for the GIL, held by 7 in read(3<pipe:[1]>)",
		"waits for the GIL, held by 7 in a system call"} {
		if got := d.Threads[i].Runtime.Facts[0]; got != want {
			t.Errorf("thread %d %q, want %q", d.Threads[i].TID, got, want)
		}
	}
}

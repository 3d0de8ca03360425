package errand

import (
	"errors"
	"testing"
	"time"
)

// TestEnd: when this program is to end, a call that does not come back is not waited for as long as else, whether it
// was asked before or afterwards.
func TestEnd(t *testing.T) {
	saved := ending
	ending = make(chan struct{})
	defer func() { ending = saved }()
	h := newHold()
	defer close(h.release)
	h.asked = make(chan bool, 2)
	var o Owner
	begun := make(chan time.Duration, 1)
	go func() {
		since := time.Now()
		_, err := Do(&o, Device(1<<61), h.call, nil)
		if !errors.Is(err, ErrNoAnswer) {
			t.Errorf("error %v, want ErrNoAnswer", err)
		}
		begun <- time.Since(since)
	}()
	<-h.asked
	close(ending)
	since := time.Now()
	if _, err := Do(&o, Device(1<<61|1), h.call, nil); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("error %v, want ErrNoAnswer", err)
	}
	after := time.Since(since)
	if before := <-begun; min(before, after) >= Slow || min(before, after) < soon {
		t.Errorf("they were waited for %v and %v, want %v", before, after, soon)
	}
}

package errand

import "time"

// Within is f's error, or [ErrNoAnswer] if f has not returned after d: then it goes on, for nobody. It is for calls
// that write, of which no two are made at a time.
func Within(d time.Duration, f func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
		return ErrNoAnswer
	}
}

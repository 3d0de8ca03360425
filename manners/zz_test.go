//go:build linux

package manners

import (
	"testing"
	"time"
	"fmt"; "os"
	"github.com/fpstack/fpstack/tracer"
)

func TestZZ(t *testing.T) {
	c := &target{}; fmt.Sscan(os.Getenv("ZZPID"), &c.pid)
	p := open(t, c.pid)
	end := time.Now().Add(6*time.Second)
	for time.Now().Before(end) {
		quit := make(chan bool)
		go func() {
			for i := 0; ; i++ {
				select {
				case <-quit:
					return
				case <-time.After(100*time.Millisecond):
					fmt.Println("slow", i, threadStates(c.pid))
				}
			}
		}()
		begun := time.Now()
		_, err := p.Snapshot(t.Context(), tracer.StopOptions{})
		close(quit)
		if took := time.Since(begun); took > 300*time.Millisecond {
			fmt.Println("took", took, err)
			break
		}
	}
}

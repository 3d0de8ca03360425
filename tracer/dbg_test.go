//go:build linux

package tracer
import ("testing";"fmt";"time")
func TestDbg(t *testing.T) {
	c := start(t, "threads", 1000, 30)
	p := openTarget(t, c.pid())
	for i := range 90 {
	t0 := time.Now()
	s := look(t, p, StopOptions{Rolling: i%3>0, Batch: 1+7*(i%3/2)})
	bad := map[string]int{}
	var max time.Duration
	for _, th := range s.Threads { if th.Registers == nil { bad[th.NotStopped]++ }; if th.Stopped > max { max = th.Stopped } }
	fmt.Println(i, time.Since(t0), s.Stopped, len(s.Threads), max, bad, s.Problems)
	}
}

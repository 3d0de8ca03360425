//go:build linux

package tracer
import ("testing";"fmt";"os/exec";"time")
func TestDbg(t *testing.T) {
	c := start(t, "threads", 1000, 30)
	p := openTarget(t, c.pid())
	for i := range 90 {
	t0 := time.Now()
	s := look(t, p, StopOptions{Rolling: i%3>0, Batch: 1+7*(i%3/2)})
	n, bad := 0, 0
	for _, th := range s.Threads { if th.Registers == nil { bad++; 
		fmt.Printf("%d %+v\n", th.TID, th)
		b, _ := exec.Command("grep","-E","State|Tracer|SigPnd|Threads|ctxt",fmt.Sprintf("/proc/%d/task/%d/status", c.pid(), th.TID)).Output(); fmt.Println(string(b))
	 } ; n++ }
	fmt.Println(i, time.Since(t0), s.Stopped, n, bad, s.Problems)
	}
}

//go:build linux

package tracer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestCompare(t *testing.T) {
	n := os.Getenv("N")
	depth := os.Getenv("DEPTH")
	spin := os.Getenv("SPIN")
	cmd := exec.Command("/tmp/tracer/threads", n, depth, spin)
	out, _ := cmd.StdoutPipe()
	cmd.Start()
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	out.Read(make([]byte, 1))
	p, err := Open(cmd.Process.Pid, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 3 {
		b, _ := exec.Command("/tmp/tracer/cstop", strconv.Itoa(cmd.Process.Pid), "15").Output()
		var c []int
		var got string
		for l := range strings.Lines(string(b)) {
			f := strings.Fields(l)
			v, _ := strconv.Atoi(f[0])
			c = append(c, v/1000)
			got = f[2]
		}
		slices.Sort(c)
		var g []int
		var total time.Duration
		bytes := 0
		for range 15 {
			t0 := time.Now()
			s, err := p.Snapshot(context.Background(), StopOptions{Rolling: os.Getenv("ROLL") != ""})
			if err != nil {
				t.Fatal(err)
			}
			total += time.Since(t0)
			g = append(g, int(s.Stopped/1000))
			bytes = 0
			for _, th := range s.Threads {
				bytes += len(th.Stack.Data)
				if th.NotStopped != "" || th.StackErr != nil {
					fmt.Println(th.TID, th.NotStopped, th.StackErr)
				}
			}
			if len(s.Problems) > 0 {
				fmt.Println(s.Problems)
			}
			time.Sleep(20 * time.Millisecond)
		}
		slices.Sort(g)
		fmt.Println("C us", c[len(c)/2], c[0], "go us", g[len(g)/2], g[0], g[14], "ratio", float64(g[len(g)/2])/float64(c[len(c)/2]), "whole", total/15, "bytes", got, bytes)
	}
}

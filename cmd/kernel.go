package cmd

import (
	"time"

	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/waits/live"
)

// kernel is the [trigger.Kernel] of this machine.
type kernel struct{}

func (kernel) CPUTime(pid int) (time.Duration, error) { return tracer.CPUTimeOf(pid) }

func (kernel) TCPBytes(pid int) (map[uint64]uint64, error) { return live.TCPBytes(pid) }

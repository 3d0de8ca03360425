//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// builds compares the CPU time that fpstack run takes itself, with all that it watches for, with that of a build by
// make below it: of the C programs that are sampled elsewhere, again and again. Builds with and without it differ by
// more than it takes from one time to the next.
func (b *bench) builds() error {
	dir, err := os.MkdirTemp("", "build")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sources, err := filepath.Abs(b.scripts)
	if err != nil {
		return err
	}
	rules := fmt.Sprintf("sources := $(wildcard %s/*.c)\nobjects := $(notdir $(sources:.c=.o))\n"+
		"all: $(objects)\n%%.o: %s/%%.c\n"+
		"\t@cc -O2 -w -pthread -c -o $@ $< 2>/dev/null || : >$@\nclean:\n\t@rm -f *.o\n",
		sources, sources)
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(rules), 0o644); err != nil {
		return err
	}
	for _, flags := range []string{"", "--deadline 1h --idle 1m --idle-output 1h"} {
		own, all, err := b.build(dir, strings.Fields(flags))
		if err != nil {
			return err
		}
		what := strings.TrimSpace("make -j2 under fpstack run " + flags)
		verdict(what+": its own CPU time", 100*own/(all-own), 0.5, "%",
			fmt.Sprintf("%.0f ms beside %.1f s", 1000*own, all-own))
	}
	return b.buildPairs(dir)
}

// buildPairs compares builds with fpstack run and without it by the clock, in turn. How much pairs differ among
// themselves says what the median is worth.
func (b *bench) buildPairs(dir string) error {
	plain := []string{"sh", "-c", "make -s -C " + dir + " clean && make -s -j2 -C " + dir}
	watched := append([]string{b.fpstack, "run", "--deadline", "1h", "--idle", "1m", "--"}, plain...)
	rs, err := contest(b.rounds, plain, watched)
	if err != nil {
		return err
	}
	var more []float64
	for i := range rs[0] {
		more = append(more, 100*(float64(rs[1][i].wall)/float64(rs[0][i].wall)-1))
	}
	slices.Sort(more)
	n := len(more)
	fmt.Printf("| make -j2 under fpstack run, by the clock: longer than without it | %.2f %% | | | | "+
		"%d pairs in turn, half of them from %.2f to %.2f %%, all from %.2f to %.2f %% |\n",
		more[n/2], n, more[n/4], more[n-1-n/4], more[0], more[n-1])
	return nil
}

// build builds everything in dir b.rounds times below one fpstack run, and returns the seconds of CPU that this took
// itself, and those of all.
func (b *bench) build(dir string, flags []string) (own, all float64, err error) {
	script := fmt.Sprintf("for i in $(seq %d); do make -s clean; make -s -j2; done; echo done; read line", b.rounds)
	cmd := exec.Command(b.fpstack, append(append([]string{"run"}, flags...), "--", "sh", "-c", script)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	_, readErr := bufio.NewReader(out).ReadString('\n')
	own, err = ownTime(cmd.Process.Pid)
	in.Close()
	cmd.Wait() // the shell's status is that of read
	if readErr != nil {
		return 0, 0, fmt.Errorf("build below fpstack run: %w", readErr)
	}
	return own, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), err
}

// ownTime is the CPU time of a process without its children, in seconds; /proc has it in hundredths alone.
// Source: clock_getcpuclockid(3), whose clock is of the kernel's MAKE_PROCESS_CPUCLOCK with CPUCLOCK_SCHED.
func ownTime(pid int) (float64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|2, &t); err != nil {
		return 0, fmt.Errorf("read CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()).Seconds(), nil
}

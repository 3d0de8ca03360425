//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// builds compares a build by make, of the C programs that are sampled elsewhere, with the same build under fpstack run
// with all that it watches for: pairs in turn, the median of their ratios.
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
	plain := []string{"make", "-j2"}
	run := []string{b.fpstack, "run", "--deadline", "1h", "--idle", "1m", "--idle-output", "1h", "--"}
	watched := append(run, plain...)
	type pair struct{ wall, cpu [2]float64 }
	var pairs []pair
	for round := range b.rounds + 1 {
		var p pair
		for i := range 2 {
			which := (i + round) % 2
			args := plain
			if which == 1 {
				args = watched
			}
			if p.wall[which], p.cpu[which], err = build(dir, args); err != nil {
				return err
			}
		}
		if round > 0 { // the first one warms the caches
			pairs = append(pairs, p)
		}
	}
	for _, what := range []struct {
		name string
		of   func(pair) [2]float64
	}{
		{"by the clock", func(p pair) [2]float64 { return p.wall }},
		{"CPU time", func(p pair) [2]float64 { return p.cpu }},
	} {
		ratio := medianOf(pairs, func(p pair) float64 { v := what.of(p); return v[1] / v[0] })
		with := medianOf(pairs, func(p pair) float64 { return what.of(p)[1] })
		verdict("make -j2 under fpstack run, "+what.name+": more by", 100*(ratio-1), 0.5, "%",
			fmt.Sprintf("%.2f s with it", with))
	}
	return nil
}

// build builds everything in dir again by a command, and returns the seconds that it took, and those of CPU.
func build(dir string, args []string) (wall, cpu float64, err error) {
	clean := exec.Command("make", "clean")
	clean.Dir = dir
	if out, err := clean.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("make clean: %w: %s", err, out)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	begin := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("%q: %w: %s", args, err, out)
	}
	wall = time.Since(begin).Seconds()
	return wall, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}

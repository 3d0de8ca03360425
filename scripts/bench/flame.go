//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// flames compares the making of an SVG out of a million folded lines with the programs that
// people use for it today. folded is the generator, script the path of flamegraph.pl or "".
func (b *bench) flames(folded, script string) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	lines := filepath.Join(dir, "lines.folded")
	if err := toFile(lines, folded, "-lines", "1000000"); err != nil {
		return err
	}
	ours := []string{b.fpstack, "flame", lines, "-f", "svg", "-o", filepath.Join(dir, "ours.svg")}
	const rounds = 3
	if inferno, err := exec.LookPath("inferno-flamegraph"); err == nil {
		rs, err := contest(rounds, ours, []string{inferno, lines})
		if err != nil {
			return err
		}
		row("1,000,000 folded lines to SVG, against inferno-flamegraph", seconds(rs[0]), seconds(rs[1]), 1, "s")
	} else {
		fmt.Println("| 1,000,000 folded lines to SVG | | not run: inferno-flamegraph is not installed (cargo install " +
			"inferno) | | | |")
	}
	if script == "" {
		fmt.Println("| 1,000,000 folded lines to SVG | | not run: no flamegraph.pl given (--flamegraph) | | | |")
		return nil
	}
	rs, err := contest(rounds, ours)
	if err != nil {
		return err
	}
	theirs, err := measure("perl", script, lines) // once: it takes most of a minute
	if err != nil {
		return err
	}
	row("1,000,000 folded lines to SVG, against flamegraph.pl", seconds(rs[0]), theirs.wall.Seconds(), 0.1, "s")
	return memory("1,000,000 folded lines to SVG, beside flamegraph.pl", 0, ours, []string{"perl", script, lines})
}

func seconds(rs []run) float64 {
	return medianOf(rs, func(r run) float64 { return r.wall.Seconds() })
}

// toFile runs a command into a file.
func toFile(path string, argv ...string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	c := exec.Command(argv[0], argv[1:]...)
	c.Stdout, c.Stderr = f, os.Stderr
	c.WaitDelay = time.Second
	return c.Run()
}

//go:build linux && (amd64 || arm64)

// Command exact steps a program and prints at how many instructions the walked stack is the
// true one, with the first misses of each place. It is for developers of package unwind:
//
//	go run ./tests/exact/cmd/exact -every 3 -max 100000 -- /usr/bin/openssl dgst /etc/passwd
//	go run ./tests/exact/cmd/exact -peer "eu-stack -p" -peer-every 500 -- /bin/true
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/fpstack/fpstack/tests/exact"
)

func main() {
	var opt exact.Options
	flag.IntVar(&opt.Every, "every", 1, "compare each `N`-th instruction")
	flag.Uint64Var(&opt.Start, "start", 0, "first instruction to compare")
	flag.BoolVar(&opt.Marked, "marked", false, "compare from where the program says so")
	flag.IntVar(&opt.Max, "max", 0, "end after `N` points; 0 is at the program's end")
	flag.DurationVar(&opt.Limit, "limit", 0, "end so long after the first point; 0 is at the program's end")
	flag.IntVar(&opt.Inject, "inject", 0, "send SIGUSR1 at each `N`-th instruction once a handler is installed")
	flag.IntVar(&opt.Keep, "keep", 2, "misses to print for each place")
	flag.BoolVar(&opt.Fixed, "fixed", false, "without address space randomisation")
	flag.BoolVar(&opt.NoVDSO, "no-vdso", false, "hide the vDSO, whose clock has a loop")
	flag.BoolVar(&opt.Blind, "blind", false, "walk from PC and SP alone")
	flag.StringVar(&opt.Tunables, "tunables", os.Getenv("GLIBC_TUNABLES"), "the program's GLIBC_TUNABLES")
	flag.BoolVar(&opt.TruthOnly, "truth-only", false, "walk nothing, check the truth alone")
	flag.IntVar(&opt.PeerEvery, "peer-every", 1000, "ask the peer at each `N`-th point")
	flag.StringVar(&opt.Below, "below", "", "count the points in this `function` and in what it calls")
	strict := flag.Bool("strict", false, "fail if a miss has no known cause, or nothing was compared, or not -below")
	peer := flag.String("peer", "", "compare also with this `command`, to which the process id is appended")
	flag.Parse()
	opt.Peer = strings.Fields(*peer)
	if err := run(flag.Args(), opt, *strict); err != nil {
		fmt.Fprintln(os.Stderr, "exact:", err)
		os.Exit(1)
	}
}

func run(argv []string, opt exact.Options, strict bool) error {
	if len(argv) == 0 {
		return fmt.Errorf("usage: exact [flags] -- command")
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	report, err := exact.Run(append([]string{path}, argv[1:]...), opt)
	report.Print(os.Stdout)
	if n := report.ByCause[exact.Unexplained]; err == nil && strict && (n > 0 || report.Points == 0) {
		return fmt.Errorf("%d of %d points differ from the truth, and nothing explains it", n, report.Points)
	}
	if err == nil && strict && opt.Below != "" && report.Below == 0 {
		return fmt.Errorf("no point is in %s or below it", opt.Below)
	}
	return err
}

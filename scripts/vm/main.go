//go:build linux

// Command vm is what scripts/vm-test runs inside of its virtual machine: checks of fpstack that want a kernel, a clock
// or a systemd of their own. It never runs anywhere else, as it sets the clock and ends units.
//
//	check DIR            the group that the kernel's command line names (vm.check=), with the files in DIR
//	check -frames DIR    what dumps of the targets in DIR show, to compare with; this is for any machine
//	check -traceable CMD (started by the checks) becomes CMD, which anybody may trace
//
// A line of its output is "VM pass NAME", "VM fail NAME: what was seen" or, at the end, "VM done".
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// machine is what checks have: the folder with fpstack, targets and units.
type machine struct {
	dir string
}

// groups are the checks of one machine each, by the name in vm.check=.
var groups = map[string]func(*machine){
	"clock": (*machine).clock, "spool": (*machine).spool, "yama": (*machine).yama, "apparmor": (*machine).apparmor,
	"systemd": (*machine).systemd, "kernel": (*machine).kernel,
}

func main() {
	// What ends with its starter ends with the thread that started it.
	runtime.LockOSThread()
	frames := flag.Bool("frames", false, "write what dumps show")
	traceable := flag.Bool("traceable", false, "let anybody trace this process, and become the command behind")
	flag.Parse()
	if *traceable {
		fmt.Fprintln(os.Stderr, "check:", letAnybodyTrace(flag.Args()))
		os.Exit(1)
	}
	m := &machine{dir: flag.Arg(0)}
	if *frames {
		if err := m.writeFrames(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "check:", err)
			os.Exit(1)
		}
		return
	}
	group, err := wanted()
	if err != nil {
		fmt.Println("VM fail machine:", err)
		return
	}
	group(m)
	fmt.Println("VM done")
}

// wanted reads which group the machine was booted for.
func wanted() (func(*machine), error) {
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return nil, err
	}
	for _, word := range strings.Fields(string(line)) {
		if name, ok := strings.CutPrefix(word, "vm.check="); ok && groups[name] != nil {
			return groups[name], nil
		}
	}
	return nil, fmt.Errorf("no group of checks in %q", line)
}

// try runs one check and writes how it ended, with what was seen where it failed.
func (m *machine) try(name string, check func() error) {
	err := check()
	if err == nil {
		fmt.Println("VM pass", name)
		return
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	fmt.Printf("VM fail %s: %s\n", name, first)
	for line := range strings.Lines(rest) {
		fmt.Printf("VM   | %s\n", strings.TrimRight(line, "\n"))
	}
}

// note writes a line that is neither: a figure, or a version.
func note(format string, args ...any) { fmt.Printf("VM note "+format+"\n", args...) }

func (m *machine) file(name string) string { return filepath.Join(m.dir, name) }

func (m *machine) fpstack() string { return m.file("fpstack") }

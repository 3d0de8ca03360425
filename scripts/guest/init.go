//go:build ignore

// Init is the first process of a guest. It mounts what programs expect, runs each line of the
// file /tests as a command, reports how each ended, and turns the machine off.
//
// The last line, "GUEST-DONE rc=N" with the number of commands that failed, is the only proof
// that all was run: the emulator ends with 0 after a panic of the kernel too.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

func main() {
	for _, m := range []struct{ kind, at string }{
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"},
	} {
		if err := syscall.Mount(m.kind, m.at, m.kind, 0, ""); err != nil {
			fmt.Printf("init: mount %s: %v\n", m.at, err)
		}
	}
	os.Setenv("PATH", "/t")
	os.Setenv("HOME", "/tmp")
	os.Setenv("TMPDIR", "/tmp")
	tests, err := os.ReadFile("/tests")
	if err != nil {
		fmt.Println("init:", err)
	}
	failed := 0
	for line := range strings.Lines(string(tests)) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
		err := cmd.Run()
		if err != nil {
			failed++
		}
		fmt.Printf("GUEST-RC %s %v\n", words[0], err)
	}
	fmt.Printf("GUEST-DONE rc=%d\n", failed)
	syscall.Sync()
	syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
}

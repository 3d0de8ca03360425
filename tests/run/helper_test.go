//go:build linux

package run

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
)

// helper is what this program is when the tests start it as another.
func helper(mode string) int {
	switch mode {
	case "probe":
		probe()
	case "orphans":
		return orphans()
	}
	return 0
}

// probe prints what a program sees of what it was given.
func probe() {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		for _, key := range []string{"SigBlk:", "SigIgn:", "Umask:", "Seccomp:", "CapEff:", "Uid:"} {
			if strings.HasPrefix(line, key) {
				fmt.Print(line)
			}
		}
	}
	limits, _ := os.ReadFile("/proc/self/limits")
	fmt.Printf("%s", limits)
	dir, _ := os.Getwd()
	nice, _ := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	oom, _ := os.ReadFile("/proc/self/oom_score_adj")
	fmt.Println(dir, nice, strings.TrimSpace(string(oom)))
	env, _ := os.ReadFile("/proc/self/environ")
	fmt.Printf("%q\n", env)
	var files []string
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		link, _ := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if !strings.HasPrefix(link, "/proc/") && !strings.HasPrefix(link, "anon_inode:") { // Go's own
			files = append(files, e.Name()+" "+link)
		}
	}
	sort.Strings(files)
	fmt.Println(strings.Join(files, "\n"))
}

//go:build linux

package cmd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestSeconds(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want time.Duration
		ok   bool
	}{
		{"10", 10 * time.Second, true}, {"0.5", 500 * time.Millisecond, true}, {"1m30s", 90 * time.Second, true},
		{"0", 0, false}, {"-3", 0, false}, {"", 0, false}, {"soon", 0, false}, {"NaN", 0, false}, {"1e300", 0, false},
		{"Inf", 0, false}, {"1us", time.Microsecond, true}, {"1ns", 0, false},
	} {
		var s seconds
		err := s.Set(tc.in)
		if (err == nil) != tc.ok || time.Duration(s) != tc.want {
			t.Errorf("Set(%q): got %v, %v, want %v, ok %v", tc.in, time.Duration(s), err, tc.want, tc.ok)
		}
	}
}

func TestTopUsage(t *testing.T) {
	for _, args := range [][]string{
		{"top"}, {"top", "-p", "1", "--", "true"}, {"top", "-p", "1", "--once", "0"},
		{"top", "-p", "1", "--sort", "size"},
		{"top", "-p", "1", "--by", "file"}, {"top", "-p", "1", "--window", "1ms"}, {"top", "--"},
	} {
		var out, complaint bytes.Buffer
		if got := Execute(args, &out, &complaint); got != statusUsage || out.Len() > 0 {
			t.Errorf("fpstack %q: got status %d, %q, want %d and nothing", args, got, out.String(), statusUsage)
		}
	}
	var out, complaint bytes.Buffer
	if got := Execute([]string{"top", "-p", "4194304", "--once", "1"}, &out, &complaint); got != statusNothing ||
		!strings.Contains(complaint.String(), "no such process") {
		t.Errorf("no such process: got status %d, %q", got, complaint.String())
	}
}

func TestTopTitle(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	pid := cmd.Process.Pid
	// The exec is reported before the kernel knows the new arguments.
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); len(b) > 0 || time.Now().After(end) {
			break
		}
	}
	for _, tc := range []struct {
		name    string
		pids    ids
		command []string
		want    string
	}{
		{"one process", ids{pid}, nil, strconv.Itoa(pid) + " sleep 1000"},
		{"two", ids{1, 2}, nil, "1,2"},
		{"a command", ids{7}, []string{"/usr/bin/make", "-j4"}, "7 make -j4"},
		{"one that is gone", ids{1 << 22}, nil, "4194304"},
	} {
		if got := topTitle(tc.pids, tc.command); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

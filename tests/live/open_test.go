//go:build linux

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOpenPage has --open give a page to the opener of the desktop, where there is one, and nothing without the flag.
func TestOpenPage(t *testing.T) {
	dir := room(t)
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	write("xdg-open", "#!/bin/sh\necho \"$@\" >\"${0%/*}/opened\"\nexit $STATUS\n", 0o755)
	folded, page := write("in.folded", "main;work 5\n", 0o644), filepath.Join(dir, "out.html")
	for _, tt := range []struct {
		name, said string
		args, env  []string
		root       bool
		status     int
		opened     string
	}{
		{name: "without the flag", args: []string{"-o", page}, env: []string{"DISPLAY=:9"}},
		{name: "with it", args: []string{"--open", "-o", page}, env: []string{"DISPLAY=:9"}, opened: page},
		{name: "Wayland", args: []string{"--open"}, env: []string{"WAYLAND_DISPLAY=x"},
			opened: filepath.Join(dir, "in.html"), said: "wrote in.html"},
		{name: "no desktop", args: []string{"--open", "-o", page}, status: 1, said: "there is no desktop here"},
		{name: "the opener fails", args: []string{"--open", "-o", page}, env: []string{"DISPLAY=:9", "STATUS=3"},
			status: 1, opened: page, said: "xdg-open: exit status 3"},
		{name: "root", root: true, args: []string{"--open", "-o", page}, env: []string{"DISPLAY=:9"}, status: 1,
			said: "a browser is not started as root"},
		{name: "no page", args: []string{"--open", "-o", "out.pb.gz"}, env: []string{"DISPLAY=:9"}, status: 64,
			said: "a browser shows only flame graphs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asRoot(t)
			os.Remove(filepath.Join(dir, "opened"))
			os.Remove(page)
			cmd := exec.Command(fpstack, append([]string{"flame", folded}, tt.args...)...)
			cmd.Dir, cmd.Env = dir, append([]string{"PATH=" + dir + ":/usr/bin:/bin"}, tt.env...)
			if !tt.root {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}
			out, err := cmd.CombinedOutput()
			opened, _ := os.ReadFile(filepath.Join(dir, "opened"))
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != tt.status ||
				!strings.Contains(string(out), tt.said) {
				t.Errorf("%v, want status %d and %q\n%s", err, tt.status, tt.said, out)
			}
			if got := strings.TrimSpace(string(opened)); got != tt.opened {
				t.Errorf("opened %q, want %q", got, tt.opened)
			}
		})
	}
}

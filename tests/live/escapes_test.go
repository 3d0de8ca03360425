//go:build linux

package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// nasty holds what a terminal obeys, what ends a line, what is no UTF-8, and characters that
// turn the direction of text.
const nasty = "a\nb\x1b[31m\x07\r\xff\xfe\u202e\u009bz"

// TestNastyNames: a program whose path, arguments and name, which its threads inherit, are such reaches
// the output as data: nothing in it is obeyed, and it forges no line.
func TestNastyNames(t *testing.T) {
	path := filepath.Join(room(t), nasty)
	copyFile(t, program(t, "threads-static"), path)
	forged := "x\n1 \"forged\"  computes\n  #0  forged  [forged]\n"
	p := launch(t, &exec.Cmd{Path: path, Args: []string{nasty, "2", "5", nasty, forged}}).ready(t)
	asleep(t, p.pid)
	pid := strconv.Itoa(p.pid)
	for _, options := range [][]string{nil, {"-v"}, {"--no-group"}, {"--names=none"},
		{"--color", "never", "-v", "--rolling"}} {
		out := text(t, append(options, "-p", pid)...)
		checkClean(t, out)
		if strings.Contains(out, "\n1 \"") || strings.Contains(out, "\n  #0  forged") {
			t.Errorf("%v: an argument forged a line:\n%s", options, out)
		}
		if !strings.Contains(out, `\x1b`) {
			t.Errorf("%v: the escape is not shown:\n%s", options, out)
		}
	}
	checkNamed(t, p.pid)
}

// TestNastyNamesInJSON: every byte of them can be had again, as docs/schema says.
func TestNastyNamesInJSON(t *testing.T) {
	path := filepath.Join(room(t), nasty)
	copyFile(t, program(t, "threads-static"), path)
	p := launch(t, &exec.Cmd{Path: path, Args: []string{nasty, "1", "5", `back\slash\x41`}}).ready(t)
	asleep(t, p.pid)
	d := dumpJSON(t, p.pid)
	if got := unescape(d.Process.Exe); got != path {
		t.Errorf("exe %q, want %q", got, path)
	}
	if got := unescape(d.Process.Cmdline[0]); got != nasty {
		t.Errorf("argument 0 %q, want %q", got, nasty)
	}
	if got, want := unescape(d.Process.Cmdline[3]), `back\slash\x41`; got != want {
		t.Errorf("argument 3 %q, want %q", got, want)
	}
	if got, want := unescape(d.Process.Comm), nasty[:15]; got != want {
		t.Errorf("comm %q, want %q", got, want)
	}
}

// unescape undoes what the schema says of strings from the target: \\ and \xhh.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+3 < len(s) && s[i+1] == 'x':
			v, err := strconv.ParseUint(s[i+2:i+4], 16, 8)
			if err != nil {
				return "bad escape in " + s
			}
			b.WriteByte(byte(v))
			i += 3
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '\\':
			b.WriteByte('\\')
			i++
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// TestNastyNamesInErrors: messages are read on a terminal too.
func TestNastyNamesInErrors(t *testing.T) {
	path := filepath.Join(room(t), nasty)
	copyFile(t, installed(t, "sleep"), path)
	p := launch(t, exec.Command("sh", "-c", `"$1" 600 & echo $!; exec sleep 600`, "sh", path))
	pid := p.line(t)
	n, _ := strconv.Atoi(pid)
	// A shell reaps a child that ends before it becomes sleep, which reaps none.
	await(t, "both have become what they execute", func() bool {
		shell, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.pid))
		child, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", n))
		return string(shell) == "sleep\n" && string(child) != "sh\n"
	})
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "the child is a zombie", func() bool { return stateOf(n) == 'Z' })
	o := show(t, "-p", pid)
	checkClean(t, o.stderr)
	checkRefusal(t, o, "has ended", "wait for it")
	checkClean(t, show(t, "-p", pid, "-o", "/nowhere/"+nasty).stderr)
}

//go:build linux

package live

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestNamelessCode: code that nobody names is shown by its mapping and the offset in it, in a dump, a saved one and a
// recording, where a mapping is one function.
func TestNamelessCode(t *testing.T) {
	t.Parallel()
	p := runTarget(t, "nameless")
	plain, named := p.line(t), "anon:code"
	if p.line(t) != "0" { // CONFIG_ANON_VMA_NAME is not set
		named = ""
	}
	pid, saved := strconv.Itoa(p.pid), filepath.Join(room(t), "saved")
	o := show(t, "-p", pid, "--save", saved)
	check := func(way, text string, made ...string) {
		t.Helper()
		var got []string
		for line := range strings.Lines(text) {
			if f := strings.Fields(line); len(f) > 2 && f[1] == "[jit" {
				got = append(got, strings.Join(f[2:], " "))
			}
		}
		first := named
		if first == "" && len(got) > 0 {
			first, _, _ = strings.Cut(got[len(got)-1], "+")
			if first == plain || !strings.HasPrefix(first, "0x") {
				t.Errorf("%s: the first mapping is %q", way, first)
			}
		}
		want := append(made, plain+"+0x150]", plain+"+0x110]", first+"+0x50]", first+"+0x10]")
		if !slices.Equal(got, want) || !strings.Contains(text, " leaf ") || !strings.Contains(text, " main ") {
			t.Errorf("%s: got %q, want %q\n%s", way, got, want, text)
		}
	}
	check("dump", o.stdout, "memfd:made+0x250]", "memfd:made+0x210]")
	check("saved", show(t, saved).stdout, "memfd:made+0x250]", "memfd:made+0x210]")
	for _, f := range dumpJSON(t, p.pid).thread(t, p.pid).Stack.Frames {
		if strings.HasPrefix(f.Function, "[jit") != (f.Kind == "unknown") {
			t.Errorf("JSON: %+v", f)
		}
	}
	text := show(t, "record", "-p", pid, "-d", "1", "-f", "folded", "-o", "-").stdout
	if want := fmt.Sprintf("[jit %s];[jit %[1]s];[jit memfd:made];[jit memfd:made];leaf;", plain); strings.Count(text,
		"\n") != 1 || !strings.Contains(text, want) {
		t.Errorf("a recording has not one stack with %q:\n%s", want, text)
	}
	if text := show(t, "-p", pid, "-f", "gdb").stdout; strings.Contains(text, "[jit") ||
		strings.Count(text, " in ?? () from unknown") != 6 {
		t.Errorf("gdb's form:\n%s", text)
	}
}

//go:build linux

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFlameReadsPerfScript: what perf writes of a program goes into flame as it is.
func TestFlameReadsPerfScript(t *testing.T) {
	t.Parallel()
	asRoot(t)
	perf := installed(t, "perf")
	data := filepath.Join(t.TempDir(), "perf.data")
	record := exec.Command(perf, "record", "-F", "99", "-g", "-o", data, "--", "sh", "-c",
		"i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
	if out, err := record.CombinedOutput(); err != nil {
		t.Skipf("perf records nothing here: %v, %s", err, out)
	}
	text, err := exec.Command(perf, "script", "-i", data).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "perf.txt")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	o := show(t, "flame", "-f", "json", file)
	if o.status != 0 || !strings.Contains(o.stdout, `"sh"`) || strings.Contains(o.stdout, "not understood") {
		t.Errorf("status %d, %.400s, %s", o.status, o.stdout, o.stderr)
	}
}

// TestFlameReadsCPUProfile: so does what node writes of itself.
func TestFlameReadsCPUProfile(t *testing.T) {
	node := installed(t, "node")
	dir := t.TempDir()
	script := filepath.Join(dir, "w.js")
	if err := os.WriteFile(script, []byte("function spin(ms){const e=Date.now()+ms; while(Date.now()<e);}\n"+
		"spin(300)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "--cpu-prof", "--cpu-prof-name=x.cpuprofile", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("this node writes no profile: %v, %s", err, out)
	}
	o := show(t, "flame", "-f", "folded", filepath.Join(dir, "x.cpuprofile"))
	if o.status != 0 || !strings.Contains(o.stdout, ";spin ") {
		t.Errorf("status %d, %q, %s", o.status, o.stdout, o.stderr)
	}
}

// TestFlameOfADump: it says which command makes a profile of it, and that command does.
func TestFlameOfADump(t *testing.T) {
	dir := t.TempDir()
	dump, profile := filepath.Join(dir, "dump.json"), filepath.Join(dir, "out.folded")
	if o := show(t, "-f", "json", "-o", dump, "-p", sleeper(t)); o.status > 1 {
		t.Fatal(o.stderr)
	}
	if o := show(t, "flame", "-f", "svg", dump); o.status != 2 || !strings.Contains(o.stderr, "fpstack FILE") {
		t.Errorf("status %d, %s", o.status, o.stderr)
	}
	if o := show(t, "-f", "folded", "-o", profile, dump); o.status > 1 {
		t.Fatal(o.stderr)
	}
	if o := show(t, "flame", "-f", "folded", profile); o.status != 0 || o.stdout == "" {
		t.Errorf("of the folded dump: status %d, %q, %s", o.status, o.stdout, o.stderr)
	}
}

//go:build linux

package v8

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/cmd"
	"github.com/fpstack/fpstack/tests/harness"
)

// TestUnshown: Deno, Bun and Chromium, on which Electron is built, get a line that says what they are and why no
// JavaScript is named, also where the program has another name, as one that Deno or Bun compiled has.
func TestUnshown(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(page, []byte("<script>for(;;) for (let i = 0; i < 1e8; i++) Math.sqrt(i)</script>"),
		0o600); err != nil {
		t.Fatal(err)
	}
	spin := filepath.Join(t.TempDir(), "spin.js")
	if err := os.WriteFile(spin, []byte("for (let n = 0;; n++) Math.sqrt(n)"), 0o600); err != nil {
		t.Fatal(err)
	}
	const folder = "../../testdata/bin/javascript"
	for _, row := range []struct {
		name, file, as string
		arguments      []string
		want           string
	}{
		{"deno", folder + "/deno", "deno", []string{"run", spin}, "as that of Deno"},
		{"deno of another name", folder + "/deno", "server", []string{"run", spin}, "as that of Deno"},
		{"bun", folder + "/bun", "bun", []string{"run", spin}, "JavaScriptCore, as in Bun"},
		{"bun of another name", folder + "/bun", "server", []string{"run", spin}, "JavaScriptCore, as in Bun"},
		{"chromium", "/usr/lib/chromium/chromium", "chromium", []string{"--headless", "--no-sandbox", "--disable-gpu",
			"--user-data-dir=" + t.TempDir(), "file://" + page}, "built on Chromium"},
	} {
		t.Run(row.name, func(t *testing.T) {
			file, _ := filepath.Abs(row.file)
			if _, err := os.Stat(file); err != nil {
				t.Skipf("%v: scripts/build-node --all gets Deno and Bun, the package manager Chromium", err)
			}
			as := file
			if filepath.Base(file) != row.as {
				as = filepath.Join(t.TempDir(), row.as)
				if err := os.Link(file, as); err != nil {
					t.Skipf("a temporary folder on another disk: %v", err)
				}
			}
			c := exec.Command(as, row.arguments...)
			c.Env = append(os.Environ(), "HOME="+t.TempDir())
			c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
			if err := harness.Start(c); err != nil {
				t.Fatal(err)
			}
			defer c.Wait()
			defer syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
			var out, complaints bytes.Buffer
			for range 100 {
				time.Sleep(100 * time.Millisecond)
				out.Reset()
				cmd.Execute([]string{"-p", fmt.Sprint(c.Process.Pid), "--children"}, &out, &complaints)
				if strings.Contains(out.String(), "JavaScript frames are not shown: ") &&
					strings.Contains(out.String(), row.want) {
					return
				}
			}
			t.Errorf("no note says %q:\n%s\n%s", row.want, &out, &complaints)
		})
	}
}

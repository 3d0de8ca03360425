//go:build linux

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeGo is a go command whose version, and what it does with a download, are variables: DOWNLOAD is what it prints,
// and FAILS its status.
const fakeGo = `#!/bin/sh
echo "go $*" >>"$CALLS"
case "$*" in
"env GOVERSION") echo "$VERSION" ;;
"env GOTOOLCHAIN") echo "${GOTOOLCHAIN-auto}" ;;
"env GOOS") echo linux ;;
"env GOARCH") echo amd64 ;;
"env GOPROXY") echo "${GOPROXY-https://proxy.example}" ;;
"mod download -json "*) echo "$DOWNLOAD"; exit ${FAILS-0} ;;
"mod download") [ -z "${MODULES_FAIL-}" ] || { echo "go: example.com/m@v1: dial tcp: lookup failed" >&2; exit 1; } ;;
esac
`

// stage is a copy of scripts/setup with a folder of fakes, which PATH names before the machine's own.
type stage struct{ root, fakes, calls string }

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{root: room(t)}
	s.fakes, s.calls = filepath.Join(s.root, "fakes"), filepath.Join(s.root, "calls")
	for _, dir := range []string{"scripts", "fakes"} {
		if err := os.Mkdir(filepath.Join(s.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"setup", "environment.sh"} {
		copyFile(t, filepath.Join("..", "..", "scripts", name), filepath.Join(s.root, "scripts", name))
	}
	if err := os.WriteFile(filepath.Join(s.root, "go.mod"), []byte("module m\n\ngo 1.26.0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) fake(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.fakes, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// run runs scripts/setup --build-only with these variables and no others.
func (s *stage) run(t *testing.T, variables ...string) (status int, said string) {
	t.Helper()
	cmd := exec.Command("bash", filepath.Join(s.root, "scripts/setup"), "--build-only")
	cmd.Env = append([]string{"PATH=" + s.fakes + ":/usr/bin:/bin", "HOME=" + s.root, "CALLS=" + s.calls}, variables...)
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(out)
}

// toolchain makes what a download of Go leaves: files without permission to run, which say version.
func (s *stage) toolchain(t *testing.T, version string) string {
	t.Helper()
	dir := filepath.Join(s.root, "cache", version)
	for _, d := range []string{"bin", "pkg/tool"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go", "gofmt"} {
		text := strings.ReplaceAll(fakeGo, `"$VERSION"`, version)
		if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestSetupBringsGo: a Go that is too old fetches the right one. What fails is reported with its true cause, and leaves
// nothing.
func TestSetupBringsGo(t *testing.T) {
	installed(t, "bash")
	const refused = `{"Path": "golang.org/toolchain", ` +
		`"Error": "Get \"https://proxy.example\": x509: certificate signed by unknown authority"}`
	for _, tt := range []struct {
		name      string
		variables []string
		has       string // the version of the toolchain that was fetched, "" for none
		status    int
		want      string
		linked    bool
	}{
		{"new enough", []string{"VERSION=go1.26.3"}, "", 0, "", false},
		{"fetches by itself", []string{"VERSION=go1.22.1"}, "", 0, "", false},
		{"may not fetch by itself", []string{"VERSION=go1.22.1", "GOTOOLCHAIN=local"}, "go1.26.0", 0,
			"Go is in .bin", true},
		{"too old", []string{"VERSION=go1.19.8"}, "go1.26.0", 0, "Go is in .bin", true},
		{"too old, and the download fails", []string{"VERSION=go1.19.8", "DOWNLOAD=" + refused, "FAILS=1"}, "", 1,
			"x509: certificate signed by unknown authority", false},
		{"too old, and nothing was brought", []string{"VERSION=go1.19.8", "DOWNLOAD={}"}, "", 1, "no bin/go", false},
		{"another version was brought", []string{"VERSION=go1.19.8"}, "go1.25.0", 1,
			"is go1.25.0, not go1.26.0", false},
		{"modules cannot be had", []string{"VERSION=go1.26.3", "MODULES_FAIL=1", "GOPROXY=https://mirror.example"}, "",
			1, "lookup failed", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			s.fake(t, "go", fakeGo)
			if tt.has != "" {
				tt.variables = append(tt.variables, `DOWNLOAD={"Dir": "`+s.toolchain(t, tt.has)+`"}`)
			}
			status, said := s.run(t, tt.variables...)
			if status != tt.status || !strings.Contains(said, tt.want) {
				t.Errorf("status %d, %q; want %d and %q", status, said, tt.status, tt.want)
			}
			_, err := os.Lstat(filepath.Join(s.root, ".bin/go"))
			if (err == nil) != tt.linked {
				t.Errorf(".bin/go: %v, want that it is there: %v", err, tt.linked)
			}
			if calls := readFile(t, s.calls); status == 0 && !strings.HasSuffix(calls, "go mod download\n") &&
				!tt.linked {
				t.Errorf("modules were not fetched: %s", calls)
			}
		})
	}
}

// TestWithin: a download that hangs is ended and tried again; one that fails is not; one that hangs always ends, too.
func TestWithin(t *testing.T) {
	installed(t, "bash")
	for _, tt := range []struct {
		name, fetch   string
		status, tries int
	}{
		{"hangs once", "[ -e again ] || { touch again; exec sleep 60; }", 0, 2},
		{"fails", "exit 3", 3, 1},
		{"hangs always", "exec sleep 60", 124, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			s.fake(t, "fetch", "#!/bin/sh\necho try >>\"$CALLS\"\n"+tt.fetch+"\n")
			cmd := exec.Command("bash", "-c", ". scripts/environment.sh; within 1 fetch")
			cmd.Dir = s.root
			cmd.Env = []string{"PATH=" + s.fakes + ":/usr/bin:/bin", "HOME=" + s.root, "CALLS=" + s.calls}
			out, _ := cmd.CombinedOutput()
			status, tries := cmd.ProcessState.ExitCode(), strings.Count(readFile(t, s.calls), "try\n")
			if status != tt.status || tries != tt.tries {
				t.Errorf("status %d after %d tries, want %d after %d: %s", status, tries, tt.status, tt.tries, out)
			}
		})
	}
}

// TestSetupThroughSudo: what says the way to the network passes sudo, and the reason of apt-get is reported.
func TestSetupThroughSudo(t *testing.T) {
	installed(t, "bash")
	s := newStage(t)
	s.fake(t, "id", "#!/bin/sh\necho 1000\n")
	s.fake(t, "sudo", "#!/bin/sh\necho \"sudo $*\" >>\"$CALLS\"\ncase \"$*\" in *apt-get*) shift; exec env -i "+
		"PATH=\"$PATH\" CALLS=\"$CALLS\" env \"$@\" ;; esac\n")
	s.fake(t, "apt-get", "#!/bin/sh\necho \"apt-get $* $https_proxy $SSL_CERT_FILE\" >>\"$CALLS\"\n"+
		"case \"$*\" in *install*) echo 'E: Unable to locate package golang-go'; exit 100 ;; esac\n")
	// The machine's own go must not be found.
	for _, tool := range []string{"bash", "sh", "env", "sed", "sort", "head", "tail", "mktemp", "rm", "dirname",
		"printf", "tee", "chmod", "cat"} {
		if err := os.Symlink(installed(t, tool), filepath.Join(s.fakes, tool)); err != nil {
			t.Fatal(err)
		}
	}
	status, said := s.run(t, "PATH="+s.fakes, "HTTPS_PROXY=http://proxy.example:3128", "SSL_CERT_FILE=/etc/our ca.pem")
	if status != 1 || !strings.Contains(said, "Unable to locate package golang-go") ||
		!strings.Contains(said, "ended with 100") {
		t.Errorf("status %d, %q; want 1 and the reason of apt-get", status, said)
	}
	calls := readFile(t, s.calls)
	for _, want := range []string{"HTTPS_PROXY=http://proxy.example:3128", "SSL_CERT_FILE=/etc/our ca.pem",
		"Acquire::https::CAInfo=/etc/our ca.pem",
		"install --no-install-recommends golang-go ca-certificates http://proxy.example:3128 /etc/our ca.pem"} {
		if !strings.Contains(calls, want) {
			t.Errorf("%q is not in what was called:\n%s", want, calls)
		}
	}
	if _, err := os.Lstat("/usr/sbin/policy-rc.d"); err != nil &&
		!strings.Contains(calls, "rm -f /usr/sbin/policy-rc.d") {
		t.Errorf("the policy of a failed installation stays:\n%s", calls)
	}
}

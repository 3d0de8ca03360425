//go:build linux

package main_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// script is what a step of the action may run.
var script = regexp.MustCompile(`^exec "\$GITHUB_ACTION_PATH/(packaging/action/[a-z]+)"$`)

// TestAction holds the form of action.yml: inputs reach scripts by the environment alone, the scripts are there, and
// other actions are pinned by their commit.
func TestAction(t *testing.T) {
	text, err := os.ReadFile("action.yml")
	if err != nil {
		t.Fatal(err)
	}
	runs, uses := 0, 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "- ")
		if command, ok := strings.CutPrefix(line, "run: "); ok {
			runs++
			m := script.FindStringSubmatch(command)
			if m == nil {
				t.Errorf("run is %q: want one script, and no expression", command)
				continue
			}
			if st, err := os.Stat(m[1]); err != nil || st.Mode()&0o111 == 0 {
				t.Errorf("%s cannot be run: %v", m[1], err)
			}
		}
		if action, ok := strings.CutPrefix(line, "uses: "); ok {
			uses++
			if !regexp.MustCompile(`@[0-9a-f]{40} # v\d`).MatchString(action) {
				t.Errorf("uses %s: want a commit, and its version behind it", action)
			}
		}
	}
	if runs != 2 || uses != 1 {
		t.Errorf("%d scripts and %d actions, want 2 and 1", runs, uses)
	}
	declared, _, _ := strings.Cut(string(text), "\noutputs:")
	_, declared, _ = strings.Cut(declared, "\ninputs:")
	for _, m := range regexp.MustCompile(`\binputs\.([a-z0-9-]+)`).FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(declared, "\n  "+m[1]+":\n") {
			t.Errorf("input %s is used and not declared", m[1])
		}
	}
}

// actionScript runs one of the action's scripts with variables of its own, and gives what it wrote.
func actionScript(t *testing.T, name string, variables ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("packaging/action/" + name)
	cmd.Env = append(os.Environ(), variables...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// aRelease makes a folder that is served as one: an archive whose program prints its arguments, with SHA256SUMS.
func aRelease(t *testing.T) (dir, sum string) {
	t.Helper()
	dir = t.TempDir()
	const program = "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"
	name := "fpstack-v1.2.3-linux-" + runtime.GOARCH
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: name + "/fpstack", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(program)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	z.Close()
	sum = fmt.Sprintf("%x", sha256.Sum256(archive.Bytes()))
	if err := os.MkdirAll(filepath.Join(dir, "v1.2.3"), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, data := range map[string][]byte{name + ".tar.gz": archive.Bytes(),
		"SHA256SUMS": []byte(sum + "  " + name + ".tar.gz\n")} {
		if err := os.WriteFile(filepath.Join(dir, "v1.2.3", file), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, sum
}

// fakeCurl copies what a URL of a file names: the last word, to the one behind --output.
const fakeCurl = `#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = --output ] && to=$2; shift; done
exec cp "${1#file://}" "$to"
`

func TestActionInstalls(t *testing.T) {
	dir, sum := aRelease(t)
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "curl"), []byte(fakeCurl), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, version, sum, complaint string }{
		{"by SHA256SUMS", "v1.2.3", "", ""},
		{"by a checksum", "v1.2.3", sum, ""},
		{"by a wrong checksum", "v1.2.3", strings.Repeat("0", 64), "is another one"},
		{"by a word that is no checksum", "v1.2.3", "$(id)", "there is no checksum"},
		{"a release that there is not", "v9.9.9", "", "could not be downloaded"},
		{"a version that is a path", "../v1.2.3", "", "is to be the tag"},
		{"a version that is a script", "v1.2.3;id", "", "is to be the tag"},
		{"no version", "", "", "is to be the tag"},
	} {
		temp := t.TempDir()
		out, err := actionScript(t, "install", "PATH="+bin+":"+os.Getenv("PATH"), "RUNNER_TEMP="+temp,
			"GITHUB_PATH="+filepath.Join(temp, "path"), "GITHUB_OUTPUT="+filepath.Join(temp, "output"),
			"FPSTACK_ACTION_SOURCE=file://"+dir, "FPSTACK_ACTION_VERSION="+tt.version, "FPSTACK_ACTION_SHA256="+tt.sum)
		if tt.complaint != "" {
			if err == nil || !strings.Contains(out, "::error title=fpstack::") || !strings.Contains(out, tt.complaint) {
				t.Errorf("%s: %v, %q, want a complaint that %s", tt.name, err, out, tt.complaint)
			}
			continue
		}
		path, _ := os.ReadFile(filepath.Join(temp, "path"))
		output, _ := os.ReadFile(filepath.Join(temp, "output"))
		program := strings.TrimSpace(string(path)) + "/fpstack"
		if _, statErr := os.Stat(program); err != nil || statErr != nil || string(output) != "program="+program+"\n" {
			t.Errorf("%s: %v, %v, %q, output %q", tt.name, err, statErr, out, output)
		}
	}
}

func TestActionRuns(t *testing.T) {
	temp := t.TempDir()
	program := filepath.Join(temp, "fpstack")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\"\n"+
		`shift $(($# - 1)); [ "$1" = --help ] || { cat "$1"; env; }`+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	const step = "echo one\necho '$(two) \\ three'"
	run := func(deadline, idle, options, report string) []string {
		out, err := actionScript(t, "run", "RUNNER_TEMP="+temp, "FPSTACK_ACTION_PROGRAM="+program,
			"FPSTACK_ACTION_RUN="+step, "FPSTACK_ACTION_DEADLINE="+deadline, "FPSTACK_ACTION_IDLE="+idle,
			"FPSTACK_ACTION_OPTIONS="+options, "FPSTACK_ACTION_REPORT="+report)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if strings.Contains(out, "\nFPSTACK_ACTION_") {
			t.Errorf("inputs are in the environment of the command: %q", out)
		}
		if !strings.Contains(out, "\n"+step+"\n") {
			t.Errorf("the script is another one: %q", out)
		}
		words, _, _ := strings.Cut(out, "\n"+temp)
		return strings.Split(words, "\n")
	}
	shell := []string{"--", "bash", "--noprofile", "--norc", "-e", "-o", "pipefail"}
	for _, tt := range []struct {
		name                            string
		deadline, idle, options, report string
		want                            []string
	}{
		{"nothing", "", "", "", "", nil},
		{"all", "25m", "4m", "", "a report", []string{"--deadline", "25m", "--idle", "4m", "--report", "a report"}},
		{"more options, over lines", "", "", "--grace 2s\n  --leftovers * ", "",
			[]string{"--grace", "2s", "--leftovers", "*"}},
		{"a script as a value", "$(id)", "", "", "", []string{"--deadline", "$(id)"}},
	} {
		got := run(tt.deadline, tt.idle, tt.options, tt.report)
		if want := slices.Concat([]string{"run"}, tt.want, shell); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, want)
		}
	}
	old := filepath.Join(temp, "old")
	if err := os.WriteFile(old, []byte("#!/bin/sh\nexit 64\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := actionScript(t, "run", "FPSTACK_ACTION_PROGRAM="+old, "FPSTACK_ACTION_RUN=true")
	if err == nil || !strings.Contains(out, "::error title=fpstack::this release has no fpstack run") {
		t.Errorf("a release without run: %v, %q", err, out)
	}
}

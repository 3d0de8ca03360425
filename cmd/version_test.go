package cmd

import (
	"bytes"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/vm"
)

func TestBuildOf(t *testing.T) {
	const revision = "0123456789abcdef0123456789abcdef01234567"
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: revision},
			{Key: "vcs.time", Value: "2026-11-22T23:42:01Z"}, {Key: "vcs.modified", Value: modified}}
	}
	for _, tt := range []struct {
		name string
		told build
		info debug.BuildInfo
		want build
	}{
		{"a release", build{"v1.2.3", revision, "2026-01-02T03:04:05Z"}, debug.BuildInfo{},
			build{"v1.2.3", revision, "2026-01-02T03:04:05Z"}},
		{"scripts/build between two releases", build{"devel", revision, "2026-01-02T03:04:05Z"}, debug.BuildInfo{},
			build{"devel-0123456789ab", revision, "2026-01-02T03:04:05Z"}},
		{"scripts/build with changed files", build{"devel", revision + "+dirty", "2026-01-02T03:04:05Z"},
			debug.BuildInfo{}, build{"devel-0123456789ab+dirty", revision + "+dirty", "2026-01-02T03:04:05Z"}},
		{"scripts/build without git", build{version: "devel"}, debug.BuildInfo{}, build{version: "devel"}},
		{"go install of a tag", build{}, debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}},
			build{version: "v1.2.3"}},
		{"go build in a checkout", build{}, debug.BuildInfo{Main: debug.Module{Version: "(devel)"},
			Settings: vcs("false")}, build{"devel-0123456789ab", revision, "2026-11-22T23:42:01Z"}},
		{"go build with changed files", build{}, debug.BuildInfo{Main: debug.Module{Version: "(devel)"},
			Settings: vcs("true")}, build{"devel-0123456789ab+dirty", revision + "+dirty", "2026-11-22T23:42:01Z"}},
		{"go build of a folder", build{}, debug.BuildInfo{Main: debug.Module{Version: "(devel)"}},
			build{version: "devel"}},
		{"a revision shorter than git's", build{"devel", "abc", ""}, debug.BuildInfo{},
			build{version: "devel-abc", commit: "abc"}},
	} {
		if got := buildOf(tt.told, &tt.info); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestVersion holds the first line, which scripts read, and that both ways of asking answer alike.
func TestVersion(t *testing.T) {
	answer := func(args ...string) string {
		var out, complaints bytes.Buffer
		if status := Execute(args, &out, &complaints); status != 0 || complaints.Len() > 0 {
			t.Fatalf("%v: status %d, %q", args, status, complaints.String())
		}
		return out.String()
	}
	text := answer("version")
	if !regexp.MustCompile(`\Afpstack \S+ [a-z]+/[a-z0-9]+ go\S+\n`).MatchString(text) {
		t.Errorf("version begins with another line: %q", text)
	}
	if !strings.Contains(text, "\ncovers ") {
		t.Errorf("version does not say what is covered: %q", text)
	}
	if other := answer("--version"); other != text {
		t.Errorf("--version prints %q, version %q", other, text)
	}
	if answer("version", "--licenses") != licenses {
		t.Error("version --licenses does not print licenses.txt")
	}
}

// TestCovered holds that no architecture and no runtime is left out.
func TestCovered(t *testing.T) {
	for _, a := range regs.All {
		if text := covered(a.Name); !strings.Contains(text, a.Name) {
			t.Errorf("%s is not in %q", a.Name, text)
		}
	}
	words := map[string]string{"V8": "JavaScript", "jitdump or perf map": "jitdump"}
	text := covered("amd64")
	for _, kind := range vm.Kinds {
		word := words[kind.Name]
		if word == "" {
			word = kind.Name
		}
		if !strings.Contains(text, word) {
			t.Errorf("runtime %s (%q) is not in %q", kind.Name, word, text)
		}
	}
}

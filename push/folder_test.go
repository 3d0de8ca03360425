package push

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/push/otlp"
)

// inFolder lists the names in dir.
func inFolder(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// fileRequest is one of a folder, made at a time.
func fileRequest(t *testing.T, at time.Time, service string) *Request {
	t.Helper()
	p := drawn(2, 1)
	p.TimeNanos = at.UnixNano()
	r := recorded(p)
	r.Attributes[0].Value = service
	requests, dropped := (&Target{Kind: Folder}).Encode([]Recorded{r}, otlp.Scope{}, at)
	if len(requests) != 1 || dropped != nil {
		t.Fatal(requests, dropped)
	}
	return requests[0]
}

// TestFolder: files have the time and the service in their names, the oldest go first by age and bytes, and what is not
// ours stays: files of other names, links, folders.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	begin := time.Date(2026, 11, 23, 4, 5, 6, 789e6, time.UTC)
	now := begin
	f := &folder{root: root(t, dir), limits: Limits{1 << 20, time.Hour}, now: func() time.Time { return now }}
	first := fileRequest(t, begin, "../we b")
	if !strings.HasPrefix(first.Path, "fpstack-20261123T040506.789Z-_we_b-") {
		t.Errorf("name %q", first.Path)
	}
	for range 2 { // another try is no other file
		if err := f.send(t.Context(), first); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "outside")
	old := strings.Replace(first.Path, "2026", "2020", 1)
	foreign := []string{"fpstack-2020.pb.gz", "notes", old + ".txt", strings.Replace(old, "fpstack-", "fpstack-x", 1)}
	for _, name := range foreign {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(outside, []byte("precious"), 0o600)
	os.Symlink(outside, filepath.Join(dir, old))
	os.WriteFile(filepath.Join(dir, unfinished+"x"), nil, 0o600)
	os.Chtimes(filepath.Join(dir, unfinished+"x"), begin, begin.Add(-2*abandoned))
	now = begin.Add(30 * time.Minute)
	second := fileRequest(t, now, "b")
	if err := f.send(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	want := append([]string{first.Path, second.Path, old}, foreign...)
	slices.Sort(want)
	if got := inFolder(t, dir); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	now = begin.Add(61 * time.Minute) // the first is too old
	third := fileRequest(t, now, "c")
	if err := f.send(t.Context(), third); err != nil {
		t.Fatal(err)
	}
	got := inFolder(t, dir)
	if slices.Contains(got, first.Path) || !slices.Contains(got, second.Path) || !slices.Contains(got, old) {
		t.Errorf("files %q after an hour", got)
	}
	now = now.Add(2 * listEvery) // the folder is not read for each file
	f.limits.Bytes = int64(len(third.Body)) * 2
	fourth := fileRequest(t, now, "d")
	if err := f.send(t.Context(), fourth); err != nil {
		t.Fatal(err)
	}
	got = inFolder(t, dir)
	if slices.Contains(got, second.Path) || !slices.Contains(got, fourth.Path) || len(got) != len(foreign)+3 {
		t.Errorf("files %q in %d bytes", got, f.limits.Bytes)
	}
	if b, err := os.ReadFile(outside); string(b) != "precious" {
		t.Errorf("what a link led to: %q, %v", b, err)
	}
}

// TestFolderLinkInTheWay: a link that has the name of a file is not written through.
func TestFolderLinkInTheWay(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	os.WriteFile(outside, []byte("precious"), 0o600)
	f := &folder{root: root(t, dir), limits: Limits{1 << 20, time.Hour}, now: time.Now}
	r := fileRequest(t, time.Now(), "a")
	os.Symlink(outside, filepath.Join(dir, r.Path))
	if err := f.send(t.Context(), r); err == nil {
		t.Error("a link in the way counts as sent")
	}
	if b, _ := os.ReadFile(outside); string(b) != "precious" {
		t.Errorf("what the link led to: %q", b)
	}
}

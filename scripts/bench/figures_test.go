//go:build linux

package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestFiguresOfTheCode shows which figures in docs are older than the code that they measure. They are no fault: who
// changes the code may be in no place to measure. Skipped tests are listed at the end of all tests with their reason.
func TestFiguresOfTheCode(t *testing.T) {
	const root = "../.."
	doc, err := os.ReadFile(filepath.Join(root, documented))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := readFigures(doc)
	if err != nil {
		t.Fatalf("%s: %v", documented, err)
	}
	for _, m := range kept {
		if m.hash == "" || m.commit == "" || m.date == "" || len(m.rows) == 0 {
			t.Errorf("%s: figures of %q are of no code, or there are none: %+v", documented, m.part, m)
		}
	}
	if again, err := writeFigures(doc, kept); err != nil || string(again) != string(doc) {
		t.Errorf("%s: the figures are not as scripts/benchmark --write leaves them (%v)", documented, err)
	}
	old, err := outdated(root, doc)
	if err != nil {
		t.Fatal(err)
	}
	if len(old) > 0 {
		t.Skipf("%s is older than the code for %s: scripts/benchmark --write", documented, strings.Join(old, ", "))
	}
}

func TestPartsNameTheirRooms(t *testing.T) {
	for _, p := range parts {
		if len(p.rooms) == 0 {
			t.Errorf("part %q measures no code", p.name)
		}
		if _, err := codeHash("../..", p.rooms); err != nil {
			t.Errorf("part %q: %v", p.name, err)
		}
	}
}

func TestCodeHash(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	hash := func() string {
		t.Helper()
		h, err := codeHash(root, []string{"room", "go.mod"})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	write("go.mod", "module x")
	write("room/a.go", "package room")
	first := hash()
	write("room/a_test.go", "package room")
	write("room/testdata/b.go", "package b")
	write("room/notes.md", "words")
	write("other/c.go", "package c")
	if hash() != first {
		t.Error("a test, a word or another room changes the hash")
	}
	write("room/deep/d.go", "package deep")
	second := hash()
	write("room/a.go", "package room // changed")
	if second == first || hash() == second {
		t.Error("a new file or a changed one leaves the hash as it was")
	}
	if _, err := codeHash(root, []string{"none"}); err == nil {
		t.Error("a room that is not there has a hash")
	}
}

func TestFiguresAreKept(t *testing.T) {
	doc := []byte("before\n" + figuresBegin + figuresEnd + "after\n")
	all := []measured{
		{"sleeper", "abc", "2026-11-24", "0123", []string{"one | 1 ms | 2 ms | 0.500 | 0.60 | ok"}},
		{"node", "def", "2026-11-25", "4567", []string{
			"two | 1 ms | 2 ms | 0.500 | 0.33 | MISSED",
			"three | 4 | | | |"}},
	}
	written, err := writeFigures(doc, all)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(written); !strings.HasPrefix(s, "before\n") || !strings.HasSuffix(s, "after\n") {
		t.Errorf("what is around the figures is gone: %s", s)
	}
	got, err := readFigures(written)
	if err != nil || !reflect.DeepEqual(got, all) {
		t.Errorf("read again: %v\n%+v\nwant\n%+v", err, got, all)
	}
	if _, err := readFigures([]byte("nothing")); err == nil {
		t.Error("a document without figures is read")
	}
}

func TestTableRows(t *testing.T) {
	got := tableRows([]byte("| what | fpstack |\n|---|---|\n| a, peak memory | 1.0 MiB | 2.0 MiB | | | |\n"))
	if want := []string{"a, peak memory | 1.0 MiB | 2.0 MiB | | |"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestKeep: each part is written by itself, in its place, and what others had stays.
func TestKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc")
	doc, err := writeFigures([]byte("before\n"+figuresBegin+figuresEnd+"after\n"), []measured{
		{part: "rate", commit: "c1", date: "d1", hash: "h1", rows: []string{"old"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, m := range []measured{{part: "rate", commit: "c2", date: "d2", hash: "h2", rows: []string{"new"}},
		{part: "start", commit: "c2", date: "d2", hash: "h3", rows: []string{"one", "two"}}} {
		if err := keep(path, m); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := kept(path); err != nil || !reflect.DeepEqual(names, []string{"start", "rate"}) {
		t.Errorf("it has %q, %v, want start and rate", names, err)
	}
	b, err := os.ReadFile(path)
	if text := string(b); err != nil || strings.Contains(text, "old") || !strings.Contains(text, "| rate | new |") ||
		!strings.HasPrefix(text, "before\n") || !strings.HasSuffix(text, "after\n") {
		t.Errorf("%v: the document is %s", err, text)
	}
}

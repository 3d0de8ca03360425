package cmd

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTroubleshooting holds that the messages which docs/troubleshooting.md explains are in the program: each piece of
// them between what differs from time to time.
func TestTroubleshooting(t *testing.T) {
	page, err := os.ReadFile("../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	source := programText(t)
	shown := regexp.MustCompile("\\*\\*`([^`]*)`\\*\\*").FindAllStringSubmatch(string(page), -1)
	if len(shown) < 20 {
		t.Fatalf("%d messages", len(shown))
	}
	differs := regexp.MustCompile(`"[^"]*"|\d+|…|--[xy]|\[libx\S*\]|^! |%`)
	// What the system says: errno(3) and io/fs.
	of := []string{"operation not permitted", "permission denied", "file does not exist"}
	for _, m := range shown {
		for _, piece := range differs.Split(m[1], -1) {
			if piece = strings.Trim(piece, " :(),"); len(piece) > 6 && !slices.Contains(of, piece) &&
				!strings.Contains(source, piece) {
				t.Errorf("%q: no %q in the program", m[1], piece)
			}
		}
	}
}

// programText is the source of the program, texts that are joined over lines in one piece.
func programText(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == "tests" || name == ".git" || name == ".bin"):
			return filepath.SkipDir
		case filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(path)
		all.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`" \+\s*"`).ReplaceAllString(all.String(), "")
}

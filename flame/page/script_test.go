package page

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// A file that nobody names would be missing from the page without a word.
func TestEveryScriptIsUsedOnce(t *testing.T) {
	named := append([]string{"load.js", "core.js", "svg.js", "page/element.js"}, pageParts...)
	var found []string
	err := fs.WalkDir(assets, "assets", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".js") {
			found = append(found, strings.TrimPrefix(path, "assets/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(named)
	slices.Sort(found)
	if !slices.Equal(found, named) {
		t.Errorf("assets hold the scripts %q, those in use are %q", found, named)
	}
}

// TestEveryKindHasItsColour: the styles know each kind that a frame may have, in the legend and at the edge of a value.
func TestEveryKindHasItsColour(t *testing.T) {
	style, err := sources("page.css")
	if err != nil {
		t.Fatal(err)
	}
	for k, name := range kindNames {
		for _, want := range []string{fmt.Sprintf(".f%d { background: var(--k%d); }", k, k),
			fmt.Sprintf(".k%d { border-color: var(--k%d) ", k, k)} {
			if !strings.Contains(string(style), want) {
				t.Errorf("frames of %s have no %q", name, want)
			}
		}
	}
}

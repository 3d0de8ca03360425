package procfs

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// longestName bounds the names that are compared; a program may call itself anything.
	longestName = 64
	// mostSimilar is how many names are proposed.
	mostSimilar = 3
)

// Similar lists names of the programs that somebody who wrote name may have meant, the nearest first: with one mistake
// in three letters at most, in other case, or longer than name.
func Similar(programs []Program, name string) []string {
	if n := utf8.RuneCountInString(name); n < 2 || n > longestName {
		return nil
	}
	type near struct {
		name  string
		edits int
	}
	var found []near
	for _, p := range programs {
		for _, other := range p.Names {
			if edits, ok := likeness(name, other); ok {
				found = append(found, near{other, edits})
			}
		}
	}
	slices.SortFunc(found, func(a, b near) int { return cmp.Or(a.edits-b.edits, cmp.Compare(a.name, b.name)) })
	var names []string
	for _, f := range slices.Compact(found) {
		names = append(names, f.name)
	}
	return names[:min(mostSimilar, len(names))]
}

// likeness is how far other is from what was written, and whether it may have been meant.
func likeness(written, other string) (edits int, ok bool) {
	if len(other) > longestName*utf8.UTFMax {
		return 0, false
	}
	w, o := []rune(strings.ToLower(written)), []rune(strings.ToLower(other))
	if len(w) >= 3 && strings.HasPrefix(string(o), string(w)) {
		return min(1, len(o)-len(w)), true
	}
	edits = distance(w, o)
	return edits, edits <= len(w)/3
}

// distance is the number of letters to insert, delete, replace or swap with the next to make b of a
// (the restricted Damerau-Levenshtein distance).
func distance(a, b []rune) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			replace := last[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, replace)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

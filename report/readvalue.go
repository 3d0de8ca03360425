package report

import (
	"fmt"
	"time"

	"github.com/fpstack/fpstack/jsondoc"
	"github.com/fpstack/fpstack/profile"
)

func (in *dumpReader) word(to *string) error {
	var s string
	err := in.Decode(&s)
	if err == nil {
		*to = in.text(s, &err)
	}
	return err
}

func (in *dumpReader) textList(to *[]string) error {
	var list []string
	err := in.Decode(&list)
	if err == nil {
		*to = in.texts(list, &err)
	}
	return err
}

func (in *dumpReader) duration(to *time.Duration) error {
	err := in.Decode((*int64)(to))
	if err == nil && *to < 0 {
		err = fmt.Errorf("%d is below 0", int64(*to))
	}
	return err
}

func (in *dumpReader) count(to *int) error {
	err := in.Decode(to)
	if err == nil && *to < 0 {
		err = fmt.Errorf("%d is below 0", *to)
	}
	return err
}

// text returns the bytes that s stands for. The first error of several is kept in err.
func (in *dumpReader) text(s string, err *error) string {
	if s == "" {
		return ""
	}
	if known, ok := in.words[s]; ok {
		return known
	}
	original, ok := profile.Original(s)
	if !ok && *err == nil {
		*err = fmt.Errorf("%.100q holds a backslash that begins neither \\\\ nor \\xNN", s)
	}
	in.words[s] = original
	return original
}

func (in *dumpReader) texts(list []string, err *error) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = in.text(s, err)
	}
	return out
}

// unhex is jsondoc.ParseHex that keeps the first error of several.
func unhex(s string, err *error) uint64 {
	v, failed := jsondoc.ParseHex(s)
	if failed != nil && *err == nil {
		*err = failed
	}
	return v
}

// optional is unhex of a member that may be absent.
func optional(s string, err *error) uint64 {
	if s == "" {
		return 0
	}
	return unhex(s, err)
}

func require(seen map[string]bool, names ...string) error {
	for _, name := range names {
		if !seen[name] {
			return fmt.Errorf("%q is missing", name)
		}
	}
	return nil
}

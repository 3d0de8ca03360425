package report

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// object reads an object, and lets member read the value of each of its members. It returns
// their names.
func (in *dumpReader) object(member func(name string) error) (seen map[string]bool, err error) {
	if err := in.delim('{'); err != nil {
		return nil, err
	}
	seen = map[string]bool{}
	for in.d.More() {
		token, err := in.d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		if seen[name] {
			return nil, fmt.Errorf("member %.100q comes twice", name)
		}
		if len(seen) < maxReadMembers {
			seen[name] = true
		}
		if err := member(name); err != nil {
			return nil, fmt.Errorf("%.100q: %w", name, err)
		}
	}
	return seen, in.delim('}')
}

// list reads a list of at most limit elements.
func (in *dumpReader) list(limit int, element func() error) error {
	if err := in.delim('['); err != nil {
		return err
	}
	for n := 0; in.d.More(); n++ {
		if n == limit {
			return fmt.Errorf("more than %d elements", limit)
		}
		if err := element(); err != nil {
			return fmt.Errorf("element %d: %w", n, err)
		}
	}
	return in.delim(']')
}

func (in *dumpReader) delim(want json.Delim) error {
	token, err := in.d.Token()
	if err == nil && token != want {
		err = fmt.Errorf("found %v where %v is wanted", token, want)
	}
	return err
}

// skip reads a value that is not known.
func (in *dumpReader) skip() error {
	var value json.RawMessage
	return in.d.Decode(&value)
}

func (in *dumpReader) word(to *string) error {
	var s string
	err := in.d.Decode(&s)
	if err == nil {
		*to = in.text(s, &err)
	}
	return err
}

func (in *dumpReader) textList(to *[]string) error {
	var list []string
	err := in.d.Decode(&list)
	if err == nil {
		*to = in.texts(list, &err)
	}
	return err
}

func (in *dumpReader) duration(to *time.Duration) error {
	err := in.d.Decode((*int64)(to))
	if err == nil && *to < 0 {
		err = fmt.Errorf("%d is below 0", int64(*to))
	}
	return err
}

func (in *dumpReader) count(to *int) error {
	err := in.d.Decode(to)
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

// unhex reads a number of the form that the schema calls hex.
func unhex(s string, err *error) uint64 {
	digits, ok := strings.CutPrefix(s, "0x")
	v, failed := strconv.ParseUint(digits, 16, 64)
	if (!ok || failed != nil || len(digits) > 16) && *err == nil {
		*err = fmt.Errorf("%.40q is no number of the form 0x1f of up to 64 bits", s)
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

func kindNamed(name string) (profile.Kind, bool) {
	for k := profile.Native; k <= profile.Unknown; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}

func require(seen map[string]bool, names ...string) error {
	for _, name := range names {
		if !seen[name] {
			return fmt.Errorf("%q is missing", name)
		}
	}
	return nil
}

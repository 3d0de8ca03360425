package procfs

import (
	"bytes"
	"fmt"
	"strings"
)

// Number reads a positive decimal without allocating.
func Number(b []byte) (int, bool) {
	if len(b) == 0 || len(b) > 9 {
		return 0, false
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// AppendNumbers adds the decimals in b, separated by white space.
func AppendNumbers(out []int, b []byte) []int {
	for word := range bytes.FieldsSeq(b) {
		if n, ok := Number(word); ok {
			out = append(out, n)
		}
	}
	return out
}

// ParseLastID takes the last id that was given out of the text of /proc/loadavg, as in "0.31 0.22 0.18 2/497 18320\n".
func ParseLastID(b []byte) (int, error) {
	line := bytes.TrimSpace(b)
	id, ok := Number(line[bytes.LastIndexByte(line, ' ')+1:])
	if !ok || bytes.Count(line, []byte(" ")) != 4 {
		return 0, malformed("loadavg", string(b))
	}
	return id, nil
}

// decimal reads a number up to the white space behind it, and returns what follows that.
func decimal(b []byte) (n uint64, rest []byte, ok bool) {
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9' && i < 19:
			n = n*10 + uint64(c-'0')
		case (c == ' ' || c == '\n') && i > 0:
			return n, b[i+1:], true
		default:
			return 0, nil, false
		}
	}
	return n, nil, len(b) > 0
}

// malformed is the error of a file of /proc that has not the form its document gives.
func malformed(file, text string) error {
	if len(text) > 80 {
		text = text[:80]
	}
	return fmt.Errorf("parse %s: unexpected %q", file, text)
}

// ParseStrings reads strings that each end with a zero byte: the text of /proc/PID/cmdline and environ.
func ParseStrings(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimSuffix(b, []byte{0})), "\x00")
}

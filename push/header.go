package push

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// ownHeaders are headers that say what a request is, which its sender knows.
var ownHeaders = []string{"Host", "Connection", "Content-Type", "Content-Length", "Content-Encoding", "Te",
	"Transfer-Encoding", "User-Agent"}

// ParseHeaders reads headers as a person writes them, "NAME: VALUE". "@FILE" is a file with one in each line, which
// others may not read: what is on a command line is seen by everybody on the machine.
func ParseHeaders(written []string) (http.Header, error) {
	h := http.Header{}
	for _, text := range written {
		lines := []string{text}
		if file, ok := strings.CutPrefix(text, "@"); ok {
			var err error
			if lines, err = headerLines(file); err != nil {
				return nil, err
			}
		}
		for _, line := range lines {
			name, value, err := parseHeader(line)
			if err != nil {
				return nil, err
			}
			h.Add(name, value)
		}
	}
	return h, nil
}

// headerLines reads the lines of a file that are not empty.
func headerLines(file string) ([]string, error) {
	b, err := readSecret(file)
	if err != nil {
		return nil, fmt.Errorf("read headers from %q: %w", file, cause(err))
	}
	lines := slices.DeleteFunc(strings.Split(string(b), "\n"), func(l string) bool {
		return strings.TrimSpace(l) == ""
	})
	if len(lines) == 0 {
		return nil, fmt.Errorf("read headers from %q: it is empty", file)
	}
	return lines, nil
}

// parseHeader takes one header apart. Source: RFC 9110, 5.6.2, for its name.
func parseHeader(line string) (name, value string, err error) {
	name, value, ok := strings.Cut(line, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	token := func(r rune) bool {
		return r > ' ' && r < 0x7f && !strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	}
	switch {
	case !ok || name == "" || value == "" || strings.TrimFunc(name, token) != "":
		return "", "", errors.New(`want a header as "NAME: VALUE", or @FILE`)
	case strings.ContainsFunc(value, func(r rune) bool { return r != '\t' && (r < ' ' || r >= 0x7f) }):
		return "", "", fmt.Errorf("header %q: its value is not printable", name)
	case slices.Contains(ownHeaders, http.CanonicalHeaderKey(name)):
		return "", "", fmt.Errorf("header %q says what a request is: fpstack sets it", name)
	}
	return name, value, nil
}

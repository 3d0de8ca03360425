package sourcemap

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/work"
)

const (
	maxFiles = 1 << 10 // JavaScript files whose maps are looked for
	maxURL   = 4 << 10 // bytes of a map's path

	// MaxInside bounds the bytes of a map that [Files.Inside] reads, maxInsides those of all.
	MaxInside  = 256 << 10
	maxInsides = 4 << 20
)

// Files finds and keeps the maps of JavaScript files. It is for one goroutine at a time.
type Files struct {
	open   func(path string) (*module.File, error)
	budget *work.Budget
	known  map[text]*Map // nil for a file without one
	errs   []error
	inside int // bytes that Inside has read
}

// NewFiles returns a Files that opens regular files by their absolute paths with open, and takes what it reads and
// keeps from b.
func NewFiles(open func(path string) (*module.File, error), b *work.Budget) *Files {
	return &Files{open: open, budget: b, known: map[text]*Map{}}
}

// Map is that of a text which runs under the name of a JavaScript file: the one that link, which the text names, leads
// to, or, if it is not known what the text names (""), the one that the file does. It is nil if there is none. Why one
// that is there cannot be used is kept for [Files.Err].
func (f *Files) Map(name, link string) *Map {
	key := text{name, sha256.Sum256([]byte(link))}
	m, ok := f.known[key]
	if ok || len(f.known) >= maxFiles || !path.IsAbs(name) || strings.ContainsRune(name, 0) {
		return m
	}
	var err error
	if link == "" {
		m, err = f.find(name)
	} else {
		m, err = f.follow(name, link)
	}
	if err != nil {
		f.errs = append(f.errs, fmt.Errorf("read source map of %q: %w", name, err))
	}
	f.known[key] = m
	return m
}

// Inside is the map that link, found in a text which runs under that name, has inside of itself, nil for none: no file
// is opened. A map of more than [MaxInside] bytes is not read, nor one that does not fit into 4 MB with those before.
func (f *Files) Inside(name, link string) *Map {
	if !strings.HasPrefix(link, "data:") || len(link) > MaxInside || f.inside+len(link) > maxInsides {
		return nil
	}
	f.inside += len(link)
	return f.Map(name, link)
}

// text is the name of a file, and what it says of its map.
type text struct {
	name string
	link [sha256.Size]byte
}

// Err is why maps could not be read; nil if all could.
func (f *Files) Err() error { return errors.Join(f.errs...) }

// find reads the map of a JavaScript file; nil if it has none.
func (f *Files) find(name string) (*Map, error) {
	var link string
	err := f.read(name, func(data []byte) error {
		var ok bool
		if link, ok = reference(data); !ok {
			link = ""
		}
		return nil
	})
	if err != nil || link == "" {
		return nil, nil // the text of a script need not be in a file
	}
	return f.follow(name, link)
}

// comments are what stands in front of the reference to a map; the second is an older form.
var comments = [][]byte{[]byte("//# sourceMappingURL="), []byte("//@ sourceMappingURL=")}

// reference is what the last comment of a script that names a map says. Behind it only space may come.
func reference(data []byte) (string, bool) {
	for _, c := range comments {
		i := bytes.LastIndex(data, c)
		if i < 0 {
			continue
		}
		rest := data[i+len(c):]
		if len(rest) > maxSize {
			return "", false
		}
		line, behind, _ := bytes.Cut(rest, []byte("\n"))
		if len(bytes.TrimSpace(behind)) > 0 {
			continue
		}
		return string(bytes.TrimSpace(line)), true
	}
	return "", false
}

// errRemote says that a map is not in a file.
var errRemote = errors.New("it is on another machine")

// follow reads the map that link, found in the file at name, refers to.
func (f *Files) follow(name, link string) (*Map, error) {
	if data, ok := strings.CutPrefix(link, "data:"); ok {
		return f.inline(name, data)
	}
	if len(link) > maxURL {
		return nil, fmt.Errorf("its path has %d bytes", len(link))
	}
	link = strings.TrimPrefix(link, "file://")
	if hasScheme(link) {
		return nil, errRemote
	}
	at, err := url.PathUnescape(link)
	if err != nil {
		return nil, errors.New("its path is damaged")
	}
	if !path.IsAbs(at) {
		at = path.Join(path.Dir(name), at)
	}
	// A script may name any file: what is read for somebody else are maps alone.
	if end := path.Ext(at); end != ".map" && end != ".json" || strings.ContainsRune(at, 0) {
		return nil, fmt.Errorf("%q is not the name of a map", at)
	}
	var m *Map
	err = f.read(at, func(data []byte) error {
		m, err = Parse(data, at, f.budget)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %q", at)
	}
	return m, err
}

// inline reads a map out of a data URL, RFC 2397.
func (f *Files) inline(name, data string) (*Map, error) {
	kind, text, ok := strings.Cut(data, ",")
	if !ok {
		return nil, ErrFormat
	}
	if !f.budget.Spend(int64(len(text))) {
		return nil, f.budget.Refusal()
	}
	if strings.HasSuffix(kind, ";base64") {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("%w: its base64 is damaged", ErrFormat)
		}
		return Parse(b, name, f.budget)
	}
	plain, err := url.PathUnescape(text)
	if err != nil {
		return nil, ErrFormat
	}
	return Parse([]byte(plain), name, f.budget)
}

// read calls use with the bytes of a file, which may become shorter meanwhile.
func (f *Files) read(name string, use func(data []byte) error) error {
	const cost = 20_000 // steps of opening a file
	if !f.budget.Spend(cost) {
		return f.budget.Refusal()
	}
	file, err := f.open(name)
	if err != nil {
		return err
	}
	if file.Close != nil {
		defer file.Close()
	}
	if len(file.Data) > maxSize {
		return fmt.Errorf("it has %d bytes, more than %d", len(file.Data), maxSize)
	}
	if !f.budget.Spend(int64(len(file.Data))) {
		return f.budget.Refusal()
	}
	return module.Guard(name, func() error { return use(file.Data) })
}

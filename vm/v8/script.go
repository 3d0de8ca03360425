package v8

import (
	"bytes"
	"cmp"
	"errors"
	"math/bits"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/symbol/sourcemap"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// script is a file or another text.
type script struct {
	heap.Script
	file  string
	err   error  // why its lines are not known
	tries uint32 // to read them
	met   bool   // from, own and other were found out
	from  *sourcemap.Map
	own   bool   // its text is that of the file with its name
	other string // says that it is not, or that this is not known; "" where there is no such file

	meetings uint32 // times that it was tried
}

// isWasm reports whether s stands for a module of WebAssembly: of its functions those have it that JavaScript calls,
// which enter the code that has a frame of its own.
func (s *script) isWasm() bool { return strings.HasPrefix(s.file, "wasm:") }

// script returns what is known of p. Text without a name may say of itself what it is.
func (r *Runtime) script(p heap.Script, v *view.View) *script {
	if s, ok := r.sites.scripts.Get(p); ok {
		return s
	}
	s := &script{Script: p, file: fileOf(p.Name)}
	if p.Name == heap.Eval {
		if name, err := r.heap(v).SourceURL(p); err == nil && name != "" {
			s.file = fileOf(name)
		}
	}
	r.sites.scripts.Keep(p, s, functionCost+len(s.file))
	return s
}

// fileOf is the path of a script that has a file: modules have its URL.
func fileOf(name string) string {
	if path, ok := strings.CutPrefix(name, "file://"); ok {
		if plain, err := url.PathUnescape(path); err == nil {
			return plain
		}
	}
	return name
}

// linesOf is where lines of s end, nil if that cannot be read. The text of a young script moves: then it is tried
// again, now with what the Script refers to by then, and the next time, the second, the fourth and so on.
func (r *Runtime) linesOf(s *script, v *view.View) *heap.Lines {
	if lines, ok := r.sites.lines.Get(s.Script); ok {
		return lines
	}
	var lines *heap.Lines
	if s.err == nil || errors.Is(s.err, heap.ErrMoved) || errors.Is(s.err, work.ErrSpent) {
		if s.tries++; s.err == nil || bits.OnesCount32(s.tries) == 1 {
			h := r.heap(v)
			if lines, s.err = h.LinesOf(s.Script); errors.Is(s.err, heap.ErrMoved) {
				if now, err := h.Again(s.Script); err == nil {
					lines, s.err = h.LinesOf(now)
				}
			}
		}
	}
	if s.err != nil {
		r.sites.unread++
		return nil
	}
	r.sites.lines.Keep(s.Script, lines, lines.Size())
	return lines
}

// meet finds out, once, where the text of s comes from, and whether it is that of the file with its name. Where that
// cannot be read it is tried again, the second time, the fourth and so on.
func (r *Runtime) meet(s *script, v *view.View) {
	if s.met || !path.IsAbs(s.file) {
		return
	}
	if s.meetings++; bits.OnesCount32(s.meetings) != 1 {
		r.sites.unread++
		return
	}
	err := r.compare(s, v)
	err2 := r.translate(s, v)
	if s.met = err == nil && err2 == nil; !s.met {
		r.sites.unread++
	}
}

// compare finds out whether the text of s is that of the file with its name.
func (r *Runtime) compare(s *script, v *view.View) error {
	if r.look == nil || s.Name == heap.Eval {
		return nil
	}
	var err error
	if s.own, s.other, err = r.comparedWithFile(s, v); err != nil {
		s.other = notComparedNote
	}
	return err
}

// translate finds the source map of s.
func (r *Runtime) translate(s *script, v *view.View) error {
	s.from = nil
	if r.maps == nil || s.own && !r.ofFiles {
		return nil
	}
	most := heap.MaxSource
	if !r.ofFiles {
		most = sourcemap.MaxInside
	}
	link, err := r.heap(v).MapURL(s.Script, most)
	switch {
	case errors.Is(err, heap.ErrLong):
		return nil
	case link != "" || err != nil && s.other == "": // then it is that which the file names
		s.from = r.maps(s.file, link)
	}
	return err
}

// otherNote is said of lines in text that tools such as ts-node, tsx, babel and jest have compiled in memory, and of a
// file that was changed; notComparedNote where it is not known whether they are.
const (
	otherNote       = "V8 runs another text than the file has now: the line is of that text"
	notComparedNote = "what V8 keeps of the text cannot be read: the line may be of another text than the file has now"
)

// comparedWithFile reports whether the text of s is that of the file with its name, and what is to be said of its lines
// if not. Texts of one length are taken for the same. An error says that the length of the text is not known.
func (r *Runtime) comparedWithFile(s *script, v *view.View) (own bool, note string, err error) {
	const cost = 20_000 // steps of opening a file
	n, err := r.heap(v).TextLength(s.Script)
	if err != nil || !r.budget.Spend(cost) {
		return false, "", cmp.Or(err, r.budget.Refusal())
	}
	file, err := r.look(s.file)
	if err != nil {
		return false, "", nil // no file that would have the line
	}
	if file.Close != nil {
		defer file.Close()
	}
	if size := len(file.Data); size < n || size > 3*(n+1) { // a unit is up to three bytes of UTF-8, a mark before them
		return false, otherNote, nil
	}
	if !r.budget.Spend(int64(len(file.Data))) {
		return false, "", r.budget.Refusal()
	}
	_ = module.Guard(s.file, func() error { // it may become shorter
		switch length, ok := unitsOf(file.Data); {
		case ok && length == n:
			own = true
		case ok:
			note = otherNote
		}
		return nil
	})
	return own, note, nil
}

// unitsOf is the length in UTF-16 units of a text as Node.js reads it, false if it is no UTF-8.
func unitsOf(b []byte) (n int, ok bool) {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	for len(b) > 0 {
		c, size := utf8.DecodeRune(b)
		switch {
		case c == utf8.RuneError && size == 1:
			return 0, false
		case c > 0xffff:
			n++
		}
		n, b = n+1, b[size:]
	}
	return n, true
}

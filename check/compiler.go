package check

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
)

// Compiler is one that wrote a part of an object.
type Compiler struct {
	Kind    string // "gcc", "clang", "rustc", "go", "" for one that is not known
	Version string // as the object has it: "GCC: (Debian 12.2.0-14) 12.2.0", "go1.26.8"
}

// Bounds of what is kept of .comment.
const (
	maxComment   = 64 << 10 // bytes read
	maxCompilers = 16
	maxVersion   = 200 // bytes of one
)

// compilers reads who made m: Go's build information, and .comment, where compilers leave a string for
// each object and the linker keeps one of each.
func compilers(m *module.Module) []Compiler {
	var out []Compiler
	if c, ok := goCompiler(m); ok {
		out = append(out, c)
	}
	s, ok := m.Section(".comment")
	if !ok || s.Compressed {
		return out
	}
	for _, b := range bytes.Split(s.Data[:min(len(s.Data), maxComment)], []byte{0}) {
		c := compilerOf(string(b[:min(len(b), maxVersion)]))
		if c.Version != "" && c.Kind != "linker" && len(out) < maxCompilers {
			out = append(out, c)
		}
	}
	return out
}

// compilerOf recognises a compiler by what it writes into .comment.
func compilerOf(version string) Compiler {
	c := Compiler{Version: strings.TrimSpace(version)}
	lower := strings.ToLower(c.Version)
	for _, by := range []struct{ mark, kind string }{
		{"linker:", "linker"}, {"mold ", "linker"}, {"rustc", "rustc"}, {"clang", "clang"}, {"gcc", "gcc"},
	} {
		if strings.Contains(lower, by.mark) {
			c.Kind = by.kind
			return c
		}
	}
	return c
}

// goCompiler reads the release of Go. Since Go 1.18 the string is in the section itself.
// Source: debug/buildinfo of the Go distribution.
func goCompiler(m *module.Module) (Compiler, bool) {
	s, ok := m.Section(".go.buildinfo")
	if !ok {
		if hasSection(m, ".gopclntab") || hasSection(m, ".data.rel.ro.gopclntab") {
			return Compiler{Kind: "go"}, true
		}
		return Compiler{}, false
	}
	const head = 32
	c := Compiler{Kind: "go"}
	if len(s.Data) <= head || !bytes.HasPrefix(s.Data, []byte("\xff Go buildinf:")) || s.Data[15]&2 == 0 {
		return c, true
	}
	n, size := binary.Uvarint(s.Data[head:])
	if rest := s.Data[head:]; size > 0 && n <= maxVersion && n <= uint64(len(rest)-size) {
		c.Version = string(rest[size : size+int(n)])
	}
	return c, true
}

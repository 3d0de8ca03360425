package check

import (
	"fmt"
	"slices"
	"strings"
)

// Aspect is one of the things that can be had of an object, and required of it.
type Aspect string

// The aspects. Lines are shown and never required.
const (
	FP     Aspect = "fp"
	Unwind Aspect = "tables"
	Names  Aspect = "symbols"
	Source Aspect = "lines"
)

// Required lists the aspects that may be required.
var Required = []Aspect{FP, Unwind, Names}

// Shares from which an aspect counts as there. Hand-written assembly, start-up code and data
// among the code keep real objects from the whole.
const (
	EnoughFP     = 0.95 // of the functions that need a frame record
	EnoughTables = 0.90 // of the bytes of code
)

// Meets reports whether m has what is required, and why not. Without code nothing is required. The
// vDSO meets everything: nobody can build it otherwise.
func (m *Module) Meets(a Aspect) (why string, ok bool) {
	switch {
	case m.VDSO:
		return "", true
	case m.Err != nil:
		return m.Err.Error(), false
	case m.Code == 0:
		return "", true
	}
	switch a {
	case FP:
		return m.meetsFP()
	case Unwind:
		if share, _ := m.Share(); share < EnoughTables {
			return fmt.Sprintf("unwind tables cover %s of the code, %s is wanted",
				Percent(share), Percent(EnoughTables)), false
		}
	case Names:
		if !m.Named() {
			return "it has no symbols but those it exports", false
		}
	case Source:
		if m.Lines.Kind == "" {
			return "it has no lines", false
		}
	}
	return "", true
}

func (m *Module) meetsFP() (why string, ok bool) {
	share, known := m.Frames.Share()
	switch {
	case m.Frames.All == 0:
		return "its functions are not known", false
	case !known && m.Frames.Unclear > 0:
		return fmt.Sprintf("what %d functions do with the frame pointer is not clear", m.Frames.Unclear), false
	case known && share < EnoughFP:
		return fmt.Sprintf("%d of %d functions keep a frame pointer (%s), %s is wanted", m.Frames.Kept,
			m.Frames.Kept+m.Frames.Missing, Percent(share), Percent(EnoughFP)), false
	}
	return "", true
}

// Named reports whether functions that are not exported have names too.
func (m *Module) Named() bool {
	return slices.ContainsFunc(m.Symbols, func(t SymbolTable) bool { return t.Name != ".dynsym" })
}

// Percent writes a share, rounded down so that 100% is the whole.
func Percent(share float64) string {
	tenths := int(share*1000 + 1e-9)
	if tenths >= 1000 {
		return "100%"
	}
	return fmt.Sprintf("%d.%d%%", tenths/10, tenths%10)
}

// Fix says what to change in the build so that m has an aspect, by the compilers that wrote it;
// "" if it has it, or nothing can be done.
func (m *Module) Fix(a Aspect) string {
	if _, ok := m.Meets(a); ok || m.Err != nil {
		return ""
	}
	switch a {
	case FP:
		return m.FixFP()
	case Unwind:
		return m.each(map[string]string{
			"gcc": "-fasynchronous-unwind-tables", "clang": "-fasynchronous-unwind-tables",
			"rustc": "-C force-unwind-tables=yes",
			"":      "gcc, clang: -fasynchronous-unwind-tables; assembly: .cfi directives",
		})
	case Names:
		return "link without -s and do not strip; or install the package with its debug symbols" + m.at()
	case Source:
		return m.each(map[string]string{
			"gcc": "-g", "clang": "-g", "rustc": "-C debuginfo=line-tables-only", "": "compile with -g",
		})
	}
	return ""
}

// FixFP says how the compilers of m keep the frame pointer.
func (m *Module) FixFP() string {
	if m.VDSO {
		return ""
	}
	const leaf = "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer"
	golang := "keeps frame pointers on amd64 and arm64 alone"
	if m.Arch == "amd64" || m.Arch == "arm64" {
		golang = "" // its compiler always does
	}
	return m.each(map[string]string{"gcc": leaf, "clang": leaf, "go": golang,
		"rustc": "-C force-frame-pointers=yes (the standard library: -Z build-std)",
		"":      "gcc, clang: " + leaf + "; rustc: -C force-frame-pointers=yes"})
}

// at names the file that a debug package would bring.
func (m *Module) at() string {
	if len(m.BuildID) < 4 {
		return ""
	}
	return fmt.Sprintf(" (.build-id/%s/%s.debug)", m.BuildID[:2], m.BuildID[2:])
}

// each joins the options for the compilers of m; by[""] is for an object that names none.
func (m *Module) each(by map[string]string) string {
	var out []string
	known := false
	for _, c := range m.Compilers {
		known = known || c.Kind != ""
		if text := by[c.Kind]; text != "" && c.Kind != "" {
			if line := c.Kind + ": " + text; !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	if !known {
		return by[""]
	}
	return strings.Join(out, "; ")
}

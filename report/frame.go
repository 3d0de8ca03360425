package report

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/jsondoc"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// noAddress is what stands in place of "0x" and 16 digits.
const noAddress = "                  "

// unnamed stands for a function whose name is not known.
const unnamed = "??"

// frame writes one logical frame:
//
//	#0  0x00007f3a1b2f0e26  epoll_wait+0x56  [libc.so.6]
//	#1                      aeApiPoll  src/ae_epoll.c:97  (inlined)
//	#2  0x000055d0c1a2b3c4  ??  [redis-server+0x4b3c4]
//
// The offset of an unnamed frame is its address as linked, as addr2line takes it.
func (p *printer) frame(f *profile.Frame) {
	pieces := []string{p.addressText(f), p.functionText(f), p.sourceText(f), p.moduleText(f)}
	switch {
	case f.Inlined:
		pieces = append(pieces, "(inlined)")
	case f.Kind == profile.Signal:
		pieces = append(pieces, "(signal)")
	}
	if p.opt.Verbose {
		pieces = append(pieces, originText(f))
	} else if f.Note != "" {
		pieces = append(pieces, "(unsure)")
	}
	fmt.Fprintf(p.w, "  #%-2d ", f.Index)
	gap := ""
	for _, s := range pieces {
		if s != "" {
			p.w.WriteString(gap)
			p.w.WriteString(s)
			gap = "  "
		}
	}
	p.w.WriteByte('\n')
}

func (p *printer) addressText(f *profile.Frame) string {
	if f.Inlined {
		return noAddress
	}
	return p.style(Address, address(f.Addr))
}

// address returns a in 16 digits, on 32-bit architectures too.
func address(a uint64) string {
	digits := strconv.FormatUint(a, 16)
	return "0x" + "0000000000000000"[len(digits):] + digits
}

func (p *printer) functionText(f *profile.Frame) string {
	switch {
	case f.Func == "":
		return p.style(Function, unnamed)
	case f.Inlined:
		return p.style(Function, text.Escape(f.Func))
	}
	return p.style(Function, text.Escape(f.Func)+"+"+jsondoc.Hex(f.Offset))
}

func (p *printer) sourceText(f *profile.Frame) string {
	switch {
	case f.File == "" || p.opt.NoLines:
		return ""
	case f.Line <= 0:
		return p.style(Source, text.Escape(f.File))
	}
	return p.style(Source, text.Escape(f.File)+":"+strconv.Itoa(f.Line))
}

// moduleText names where the code lies: the last part of the module's path, or the kind of
// code that has none.
func (p *printer) moduleText(f *profile.Frame) string {
	if f.Inlined {
		return ""
	}
	if f.Module < 0 || f.Module >= len(p.dump.Modules) {
		if f.Kind == profile.JIT || f.Kind == profile.Kernel || f.Kind == profile.VDSO {
			return p.style(Module, "["+f.Kind.String()+"]")
		}
		return ""
	}
	name := text.Escape(baseName(p.dump.Modules[f.Module].Path))
	if f.Func == "" {
		name += "+" + jsondoc.Hex(f.ModuleAddr)
	}
	return p.style(Module, "["+name+"]")
}

// baseName returns the last part of a module's path; "[vdso]" loses its brackets.
func baseName(file string) string {
	if inner, ok := strings.CutPrefix(file, "["); ok {
		return strings.TrimSuffix(inner, "]")
	}
	return path.Base(file)
}

// originText says how a frame was found and why that may be less sure.
func originText(f *profile.Frame) string {
	switch {
	case f.Inlined || f.Origin == "" && f.Note == "":
		return ""
	case f.Note == "":
		return "{" + text.Escape(f.Origin) + "}"
	}
	return "{" + text.Escape(f.Origin) + ": " + text.Escape(f.Note) + "}"
}

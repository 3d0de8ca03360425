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

// noAddress is what replaces "0x" and 16 digits.
const noAddress = "                  "

// unnamed is shown for a function whose name is not known.
const unnamed = "??"

// frame writes one logical frame:
//
//	#0  0x00007f3a1b2f0e26  epoll_wait+0x56  [libc.so.6]
//	#1                      aeApiPoll  src/ae_epoll.c:97  (inlined)
//	#2  0x000055d0c1a2b3c4  ??  [redis-server+0x4b3c4]
//	#3  0x00007f3a1c000123  [jit anon:code+0x123]
//
// The offset of an unnamed frame is its address as linked, as addr2line takes it.
func (p *printer) frame(f *profile.Frame) {
	marks := p.marks(f)
	name, offset := functionText(f)
	file, line := p.sourceText(f)
	module, brackets := p.moduleText(f)
	head := fmt.Sprintf("  #%-2d ", f.Index)
	if w := p.width(); w > 0 {
		widths := []int{text.Width(name), text.Width(file), text.Width(module)}
		room := w - len(head) - len(noAddress) - len(offset) - len(line) - len(brackets)
		for _, piece := range append([]string{name, file, module + brackets}, marks...) {
			if piece != "" {
				room -= 2
			}
		}
		for _, mark := range marks {
			room -= len(mark)
		}
		text.Fit(room-widths[0]-widths[1], &widths[2])       // the module says the least
		spare := widths[1] - 1 - text.Width(path.Base(file)) // the folders of a file say less than a function's name
		if over := widths[0] + widths[1] + widths[2] - room; over > 0 && spare > 0 {
			widths[1] -= min(over, spare)
		}
		text.Fit(room-widths[2], &widths[0], &widths[1])
		name, file, module = text.Shorten(name, widths[0]), text.ShortenPath(file, widths[1]),
			text.ShortenEnd(module, widths[2])
	}
	if brackets != "" {
		module = "[" + module + brackets[1:]
	}
	pieces := append([]string{p.addressText(f), p.style(Function, name+offset), p.style(Source, file+line),
		p.style(Module, module)}, marks...)
	p.w.WriteString(head)
	gap := ""
	for _, s := range pieces {
		if s != "" {
			p.w.WriteString(gap)
			p.w.WriteString(s)
			gap = "  "
		}
	}
	p.w.WriteByte('\n')
	if f.Gap {
		p.cutLine("frames are missing here: " + text.Escape(f.Note))
	}
}

// marks say what sort of frame it is and how sure.
func (p *printer) marks(f *profile.Frame) []string {
	var marks []string
	switch {
	case f.Async:
		marks = append(marks, "(awaits)")
	case f.Inlined:
		marks = append(marks, "(inlined)")
	case f.Kind == profile.Signal:
		marks = append(marks, "(signal)")
	}
	if p.opt.Verbose {
		if f.Tier != "" {
			marks = append(marks, "("+text.Escape(f.Tier)+")")
		}
		if f.Kind == profile.DotNet && f.Linkage != "" {
			marks = append(marks, "(raw: "+text.Escape(f.Linkage)+")")
		}
		marks = append(marks, originText(f))
	} else if f.Unsure {
		marks = append(marks, "(name not sure)")
	} else if f.Note != "" && !f.Gap {
		marks = append(marks, "(unsure)")
	}
	return marks
}

func (p *printer) addressText(f *profile.Frame) string {
	if !f.HasAddr() {
		return noAddress
	}
	return p.style(Address, address(f.Addr))
}

// address returns a in 16 digits, on 32-bit architectures too.
func address(a uint64) string {
	digits := strconv.FormatUint(a, 16)
	return "0x" + "0000000000000000"[len(digits):] + digits
}

// functionText is the function and how far into it the frame is.
func functionText(f *profile.Frame) (name, offset string) {
	if begin, ok := f.JITMapping(); ok {
		return text.Escape(begin), "+" + jsondoc.Hex(f.Offset) + "]"
	}
	switch {
	case f.Func == "":
		return unnamed, ""
	case !f.HasOffset():
		return text.Escape(f.Func), ""
	}
	return text.Escape(f.Func), "+" + jsondoc.Hex(f.Offset)
}

// sourceText is the file and, where it is known, ":LINE", with -v ":LINE:COLUMN"; of WebAssembly without lines the
// module and the offset in it.
func (p *printer) sourceText(f *profile.Frame) (file, line string) {
	switch {
	case f.File == "" || p.opt.NoLines:
		return "", ""
	case f.Line <= 0 && f.Kind == profile.Wasm && f.ModuleAddr != 0:
		return text.Escape(f.File), "+" + jsondoc.Hex(f.ModuleAddr)
	case f.Line <= 0:
		return text.Escape(f.File), ""
	}
	line = ":" + strconv.Itoa(f.Line)
	if p.opt.Verbose && f.Column > 0 {
		line += ":" + strconv.Itoa(f.Column)
	}
	return text.Escape(f.File), line
}

// moduleText names where the code is: the last part of the module's path, or the kind of
// code that has none, and what is around it: "[]", or with the address in it "[+0x12]". Both are "" for nothing.
func (p *printer) moduleText(f *profile.Frame) (name, brackets string) {
	if f.Inlined {
		return "", ""
	}
	if f.Module < 0 || f.Module >= len(p.dump.Modules) {
		if f.Kind.Made() || f.Kind == profile.Kernel || f.Kind == profile.VDSO {
			return f.Kind.String(), "[]"
		}
		return "", ""
	}
	name = text.Escape(baseName(p.dump.Modules[f.Module].Path))
	if f.Func == "" {
		return name, "[+" + jsondoc.Hex(f.ModuleAddr) + "]"
	}
	return name, "[]"
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

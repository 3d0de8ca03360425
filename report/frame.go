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

// maxAligned is how wide a column of names may be for places to stand below each other.
const maxAligned = 40

// frames writes the frames of one stack, numbered from 0, with the local variables of each and its lines of source.
func (p *printer) frames(frames []profile.Frame, locals map[int][]profile.Variable) {
	column := 0
	if !p.opt.Verbose {
		for i := range frames {
			if n := text.Width(p.nameText(&frames[i])); n <= maxAligned {
				column = max(column, n)
			}
		}
	}
	for i := range frames {
		f := &frames[i]
		p.frame(i, column, f)
		p.locals(locals, f)
		if i == 0 || !sameLine(f, &frames[i-1]) {
			p.source(f)
		}
	}
}

// frame writes one logical frame, its name in a column:
//
//	#0  epoll_wait       [libc.so.6]
//	#1  aeApiPoll        ae_epoll.c:97  (inlined)
//	#2  aeProcessEvents  ae.c:347
//	#3  libx.so+0x4b300
//
// The offset of an unnamed frame is its function's address as linked. With Verbose:
//
//	#0  0x00007f3a1b2f0e26  epoll_wait+0x56  [libc.so.6]
//	#1                      aeApiPoll  src/ae_epoll.c:97  (inlined)
//	#2  0x000055d0c1a2b3c4  ??  [redis-server+0x4b3c4]
//	#3  0x00007f3a1c000123  [jit anon:code+0x123]
//
// There it is its own address as linked, as addr2line takes it.
func (p *printer) frame(number, column int, f *profile.Frame) {
	head := fmt.Sprintf("  #%-2d ", number)
	var pieces []string
	if p.opt.Verbose {
		pieces = p.fullFrame(f)
	} else {
		pieces = p.shortFrame(len(head), column, f)
	}
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

// fullFrame is all that is known of f, in pieces.
func (p *printer) fullFrame(f *profile.Frame) []string {
	name, offset := functionText(f)
	file, line := p.sourceText(f)
	module, brackets := p.moduleText(f)
	if brackets != "" {
		module = "[" + module + brackets[1:]
	}
	return append([]string{p.addressText(f), p.style(Function, name+offset), p.style(Source, file+line),
		p.style(Module, module)}, p.marks(f)...)
}

// shortFrame is the name of f and its place, in pieces that fit a line of which used cells are taken. A name that does
// not fill the column is filled up where something follows.
func (p *printer) shortFrame(used, column int, f *profile.Frame) []string {
	name, marks := p.nameText(f), p.marks(f)
	file, line := p.sourceText(f)
	module := ""
	if file == "" && f.Func != "" {
		if m, brackets := p.moduleText(f); brackets != "" {
			module = "[" + m + "]"
		}
	}
	if w := p.width(); w > 0 {
		room := w - used - len(line)
		for _, piece := range append([]string{name, file, module}, marks...) {
			if piece != "" {
				room -= 2
			}
		}
		room += 2
		for _, mark := range marks {
			room -= len(mark)
		}
		widths := []int{text.Width(name), text.Width(file), text.Width(module)}
		text.Fit(room-widths[0]-widths[1], &widths[2]) // the module says the least
		spare := widths[1] - text.Width(path.Base(file))
		if over := widths[0] + widths[1] + widths[2] - room; over > 0 && spare > 0 {
			widths[1] -= min(over, spare) // the folders of a file say less than a function's name
		}
		text.Fit(room-widths[2], &widths[0], &widths[1])
		column = min(column, widths[0]+max(0, room-widths[0]-widths[1]-widths[2]))
		name, file, module = text.Shorten(name, widths[0]), text.ShortenPath(file, widths[1]),
			text.ShortenEnd(module, widths[2])
	}
	fill := 0
	if file+module != "" || len(marks) > 0 {
		fill = max(0, column-text.Width(name))
	}
	return append([]string{p.style(Function, name) + strings.Repeat(" ", fill), p.style(Source, file+line),
		p.style(Module, module)}, marks...)
}

// nameText is what f is called: its function; where that has no name, where it begins in its module; else its address.
func (p *printer) nameText(f *profile.Frame) string {
	switch {
	case f.Func != "":
		name, offset := functionText(f)
		if _, made := f.JITMapping(); made {
			return name + offset
		}
		return name
	case f.Module >= 0 && f.Module < len(p.dump.Modules):
		return text.Escape(baseName(p.dump.Modules[f.Module].Path)) + "+" + jsondoc.Hex(f.Entry())
	case f.HasAddr():
		return jsondoc.Hex(f.Addr)
	}
	return unnamed
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
		return text.Escape(p.short(f.File)), "+" + jsondoc.Hex(f.ModuleAddr)
	case f.Line <= 0:
		return text.Escape(p.short(f.File)), ""
	}
	line = ":" + strconv.Itoa(f.Line)
	if p.opt.Verbose && f.Column > 0 {
		line += ":" + strconv.Itoa(f.Column)
	}
	return text.Escape(p.short(f.File)), line
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

package flame

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// Bounds of ReadPerfScript.
const (
	maxPerfLine   = 1 << 20
	maxPerfDepth  = 1 << 16 // frames of a sample; perf itself stops at kernel.perf_event_max_stack, 127 by default
	maxPerfEvents = 64
	maxPerfTasks  = 1 << 20
	maxPerfDSOs   = 1 << 18
	maxPerfBytes  = 1 << 30 // of different names
)

const perfForm = "the text of perf script: a line with name, thread, time and event, a line for each frame, an empty line"

// perfHeader is the first line of a sample: name, [process/]thread, maybe a CPU and flags, seconds, maybe a period, event, and
// behind it what a tracepoint says, or the only frame.
// Source: perf-script(1), -F; perf_sample__fprintf_start in linux/tools/perf/builtin-script.c.
var perfHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(\S.*?)\s+(?:(\d+)/)?(\d+)\s+(?:\S+\s+){0,2}?(\d+\.\d{3,9}):\s+` +
		`(?:\d+\s+)?(\S+):(?:\s+(.*))?$`)
})

// isPerfScript tells whether a file that begins with start is the text of perf script.
func isPerfScript(start []byte) bool {
	if bytes.HasPrefix(start, []byte("# ========\n# captured on")) { // --header
		return true
	}
	for line := range bytes.Lines(start) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 && line[0] != '#' {
			return perfHeader().Match(line)
		}
	}
	return false
}

// perfSample is a stack in a task at an event.
type perfSample struct {
	profile.Sample
	event int
}

// perfReader adds up samples.
type perfReader struct {
	b       *profile.Builder
	counts  map[perfSample]int
	order   []perfSample
	events  []string
	modules map[string]int
	bytes   int // of names

	open           bool // a sample's first line was met
	task, event    int
	frames         []profile.FrameID // of that sample, innermost first
	begin, end     time.Duration
	samples, lines int
	skipped        int
	first          string // line that was not understood
}

// ReadPerfScript reads what perf script writes by default, with or without stacks. Each sample counts 1, whatever its
// period. One event is of type samples/count; several are a type each, named by the event, in the order in which they come.
//
// A function that perf does not know is named by its file, as stackcollapse-perf.pl does. What is not understood is
// counted in the Comments.
//
// It fails if r does, if no sample is understood or more lines are not understood than samples, and if a line, or what has
// to be kept, is larger than any recording makes it.
func ReadPerfScript(r io.Reader) (*profile.Profile, error) {
	p := &perfReader{b: profile.NewBuilder(), counts: map[perfSample]int{}, modules: map[string]int{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxPerfLine)
	for lines.Scan() {
		p.lines++
		if err := p.line(bytes.TrimRight(lines.Bytes(), "\r")); err != nil {
			return nil, fmt.Errorf("read perf script: line %d: %w", p.lines, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("read perf script: line %d is longer than %d MiB", p.lines+1, maxPerfLine>>20)
	case err != nil:
		return nil, fmt.Errorf("read perf script: %w", err)
	}
	p.finish()
	if p.samples == 0 || p.skipped > p.samples+p.lines/2 {
		return nil, fmt.Errorf("read perf script: %d of %d lines are not understood: expected %s; the first is %q", p.skipped, p.lines, perfForm, p.first)
	}
	return p.profile(), nil
}

// line takes one line of the text.
func (p *perfReader) line(line []byte) error {
	switch {
	case len(bytes.TrimSpace(line)) == 0:
		p.finish()
		return nil
	case line[0] == '#' && !p.open:
		return nil
	case line[0] == '\t': // a frame; names of threads have no tab in front
		return p.frame(line)
	}
	if m := perfHeader().FindSubmatch(line); m != nil {
		p.finish()
		return p.sample(m)
	}
	return p.frame(line)
}

// sample begins the sample with the header m.
func (p *perfReader) sample(m [][]byte) error {
	pid, _ := strconv.Atoi(string(m[2]))
	tid, err := strconv.Atoi(string(m[3]))
	if err != nil {
		p.skip(m[0])
		return nil
	}
	name := string(m[1])
	p.bytes += len(name)
	task := profile.Task{PID: pid, TID: tid, Thread: name}
	if pid == tid {
		task.Process = name
	}
	p.task = p.b.Task(task)
	p.event = slices.Index(p.events, string(m[5]))
	if p.event < 0 {
		p.event = len(p.events)
		p.events = append(p.events, string(m[5]))
	}
	if at, err := time.ParseDuration(string(m[4]) + "s"); err == nil {
		if p.samples == 0 {
			p.begin = at
		}
		p.begin, p.end = min(p.begin, at), max(p.end, at)
	}
	p.open = true
	if rest := m[6]; len(rest) > 0 && rest[len(rest)-1] == ')' {
		_ = p.frameOf(rest) // else it is what a tracepoint says
	}
	return p.bounded()
}

// frame takes a line for a frame of the sample.
func (p *perfReader) frame(line []byte) error {
	if !p.open || !p.frameOf(line) {
		p.skip(line)
		return nil
	}
	return p.bounded()
}

// frameOf reads "  7f0123 function+0x12 (file)", and reports whether it is that.
func (p *perfReader) frameOf(line []byte) bool {
	addr, rest, ok := bytes.Cut(bytes.TrimLeft(line, " \t"), []byte{' '})
	if _, err := strconv.ParseUint(string(addr), 16, 64); !ok || err != nil || len(p.frames) >= maxPerfDepth {
		return false
	}
	text, dso := string(bytes.TrimSpace(rest)), ""
	text, deleted := strings.CutSuffix(text, " (deleted))")
	if !deleted {
		text, ok = strings.CutSuffix(text, ")")
	}
	if at := strings.LastIndex(text, " ("); ok && at >= 0 {
		text, dso = text[:at], text[at+2:]
	} else if file, only := strings.CutPrefix(text, "("); ok && only {
		text, dso = "", file
	} else {
		return false
	}
	p.frames = append(p.frames, p.b.Frame(p.named(strings.TrimSpace(text), dso)))
	return true
}

// named is the frame of a function in a file, both as perf writes them.
func (p *perfReader) named(function, dso string) profile.Frame {
	f := profile.Frame{Func: function, Module: -1}
	if at := strings.LastIndex(function, "+0x"); at > 0 {
		f.Func = function[:at]
	}
	unknown := f.Func == "" || f.Func == "[unknown]"
	switch {
	case dso == "inlined":
		f.Inlined = true
		return f
	case dso == "[unknown]" || dso == "":
		if unknown {
			f.Func, f.Kind = "[unknown]", profile.Unknown
		}
		return f
	case strings.HasPrefix(dso, "[kernel") || strings.HasPrefix(dso, "[guest.kernel") || dso == "[bpf]" || strings.HasSuffix(dso, ".ko"):
		f.Kind = profile.Kernel
	case strings.HasPrefix(dso, "[") && dso != "[vdso]" && !strings.HasPrefix(dso, "[heap") && !strings.HasPrefix(dso, "[stack"):
		f.Kind = profile.Kernel // a module of the kernel
	case dso == "[vdso]":
		f.Kind = profile.VDSO
	case strings.HasPrefix(path.Base(dso), "perf-") && strings.HasSuffix(dso, ".map"), dso == "//anon", strings.HasPrefix(dso, "jitted-"):
		f.Kind = profile.JIT
	}
	if unknown {
		f.Func = "[" + strings.Trim(path.Base(dso), "[]") + "]"
	}
	f.Module = p.module(dso)
	return f
}

func (p *perfReader) module(dso string) int {
	i, ok := p.modules[dso]
	if !ok {
		out := p.b.Profile()
		if len(out.Modules) == 0 {
			out.Modules = append(out.Modules, profile.Module{}) // the main program first: it is not known
		}
		i = len(out.Modules)
		out.Modules = append(out.Modules, profile.Module{Path: dso})
		p.modules[dso] = i
	}
	return i
}

// finish counts the sample that is open.
func (p *perfReader) finish() {
	if !p.open {
		return
	}
	stack := profile.NodeID(0)
	for _, f := range slices.Backward(p.frames) {
		stack = p.b.Child(stack, f)
	}
	key := perfSample{profile.Sample{Stack: stack, Task: p.task}, p.event}
	if p.counts[key] == 0 {
		p.order = append(p.order, key)
	}
	p.counts[key]++
	p.samples++
	p.open, p.frames = false, p.frames[:0]
}

// bounded fails if more is to be kept than any recording has.
func (p *perfReader) bounded() error {
	out := p.b.Profile()
	switch {
	case len(p.events) > maxPerfEvents:
		return fmt.Errorf("more than %d events", maxPerfEvents)
	case len(out.Tasks) > maxPerfTasks:
		return fmt.Errorf("more than %d threads", maxPerfTasks)
	case len(out.Modules) > maxPerfDSOs:
		return fmt.Errorf("more than %d files", maxPerfDSOs)
	case len(out.Frames) > maxNames || out.Tree.Len() > maxNodes || len(p.order) > maxNodes:
		return errors.New("more functions or stacks than can be kept")
	case p.bytes > maxPerfBytes:
		return fmt.Errorf("names have more than %d MiB", maxPerfBytes>>20)
	}
	return nil
}

func (p *perfReader) skip(line []byte) {
	if p.skipped++; p.skipped == 1 {
		p.first = string(line[:min(len(line), maxShown)])
	}
}

// profile is what was added up.
func (p *perfReader) profile() *profile.Profile {
	out := p.b.Profile()
	out.Types = []profile.ValueType{profile.SamplesCount}
	if len(p.events) > 1 {
		out.Types = nil
		for _, e := range p.events {
			out.Types = append(out.Types, profile.ValueType{Type: e, Unit: "count"})
		}
		out.Comments = append(out.Comments, "samples of several events, each a --type of its own: "+strings.Join(p.events, ", "))
	}
	at := map[profile.Sample]int{}
	for _, key := range p.order {
		i, ok := at[key.Sample]
		if !ok {
			i = len(out.Samples)
			at[key.Sample] = i
			out.Samples = append(out.Samples, key.Sample)
			out.Values = append(out.Values, make([]int64, len(out.Types))...)
		}
		out.Values[i*len(out.Types)+key.event] = int64(p.counts[key])
	}
	out.Duration = p.end - p.begin
	if p.skipped > 0 {
		out.Comments = append(out.Comments, fmt.Sprintf("%d of %d lines not understood, the first is %q", p.skipped, p.lines, p.first))
	}
	return out
}

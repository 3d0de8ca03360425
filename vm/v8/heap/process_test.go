package heap

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// process is a node that waits in Atomics.wait at the top of a chain of calls. Nothing is attached to it: its memory is
// read through /proc, and frames are recognised by what the words of its stack say.
type process struct {
	Heap
	memory mem.Reader // of Heap
	t      testing.TB
	file   *os.File
	maps   []mapping
	sizes  Sizes
	stack  []byte
	sp     mem.Addr
	// codes are objects that were found at return addresses; a recorded process has no others.
	codes map[mem.Addr]mem.Addr
}

type mapping struct {
	start, end mem.Addr
	perm, path string
}

// reading is the heap that m holds.
func reading(l *Layout, m mem.Reader, b *work.Budget) Heap {
	v := view.Lasting(m, b)
	return Heap{Layout: l, View: &v}
}

// use makes p read from m.
func (p *process) use(l *Layout, m mem.Reader, b *work.Budget) {
	p.memory, p.Heap = m, reading(l, m, b)
}

func (p *process) ReadMem(b []byte, a mem.Addr) (int, error) {
	if a >= 1<<47 {
		return 0, &mem.FaultError{Addr: a, Len: len(b), Err: mem.ErrUnmapped}
	}
	n, err := p.file.ReadAt(b, int64(a))
	if err != nil {
		return n, &mem.FaultError{Addr: a + mem.Addr(n), Len: len(b) - n, Err: err}
	}
	return n, nil
}

// truthFrame is one line of what V8 itself says of the stack.
type truthFrame struct {
	function, file, receiver string
	line, column             int
}

// start runs testdata/truth.js and returns when it waits.
func start(t *testing.T, node string, arguments ...string) (*process, []truthFrame) {
	t.Helper()
	path := filepath.Join(binaries, node, "bin/node")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("scripts/build-node has not been run: no node %s in testdata/bin/node", node)
	}
	c := exec.Command(path, arguments...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("node %s %v: %v", node, arguments, err)
	}
	var frames []truthFrame
	if line != "ready\n" {
		frames = truth(t, line)
	}
	p := &process{t: t, sizes: bytecodeSizes(t, path), codes: map[mem.Addr]mem.Addr{}}
	p.use(layoutOf(t, node), p, nil)
	p.open(c.Process.Pid)
	return p, frames
}

func truth(t *testing.T, line string) []truthFrame {
	t.Helper()
	var rows [][5]any
	if err := json.Unmarshal([]byte(line), &rows); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	var out []truthFrame
	for _, r := range rows {
		var f truthFrame
		f.function, _ = r[0].(string)
		f.file, _ = r[1].(string)
		l, _ := r[2].(float64)
		c, _ := r[3].(float64)
		f.receiver, _ = r[4].(string)
		f.line, f.column = int(l), int(c)
		out = append(out, f)
	}
	return out
}

// open waits until the main thread is asleep, and reads its mappings and stack.
func (p *process) open(pid int) {
	p.t.Helper()
	root := fmt.Sprintf("/proc/%d/", pid)
	var err error
	if p.file, err = os.Open(root + "mem"); err != nil {
		p.t.Skipf("memory of another process cannot be read: %v", err)
	}
	p.t.Cleanup(func() { p.file.Close() })
	const futex = "202"
	for tries := 0; ; tries++ {
		text, err := os.ReadFile(root + "syscall")
		words := strings.Fields(string(text))
		if err == nil && len(words) == 9 && words[0] == futex {
			sp, err := strconv.ParseUint(words[7], 0, 64)
			if err != nil {
				p.t.Fatal(err)
			}
			p.sp = mem.Addr(sp)
			break
		}
		if tries > 1e6 {
			p.t.Fatalf("the process does not wait: %q, %v", text, err)
		}
	}
	text, err := os.ReadFile(root + "maps")
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var m mapping
		var offset, inode uint64
		var device string
		_, _ = fmt.Sscanf(line, "%x-%x %s %x %s %d %s", &m.start, &m.end, &m.perm, &offset, &device, &inode, &m.path)
		p.maps = append(p.maps, m)
		if p.sp >= m.start && p.sp < m.end {
			p.stack = make([]byte, m.end-p.sp)
			if _, err := p.ReadMem(p.stack, p.sp); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}

func (p *process) word(a mem.Addr) uint64 {
	v, _ := mem.Range{Start: p.sp, Data: p.stack}.Bytes(a, 8)
	if v == nil {
		return 0
	}
	var out uint64
	for i := 7; i >= 0; i-- {
		out = out<<8 | uint64(v[i])
	}
	return out
}

// jsFrame is a frame of a function of JavaScript: where its frame pointer points to, and the return address to it.
type jsFrame struct {
	fp, pc   mem.Addr
	function mem.Addr
}

// frames finds frames by the words that frames of V8 have below their frame pointer: a JSFunction and a context. The
// chain of frame pointers breaks at C++ and goes on at a frame that another does not lead to.
func (p *process) frames() []jsFrame {
	var out []jsFrame
	calls := map[mem.Addr]mem.Addr{} // frame pointer -> return address
	top := p.sp + mem.Addr(len(p.stack))
	for fp := p.sp + 40; fp < top-16; fp += 8 {
		if saved := mem.Addr(p.word(fp)); saved > fp && saved < top && saved%8 == 0 {
			pc := mem.Addr(p.word(fp + 8))
			// A dead frame below may have the same frame pointer; code that was made is no guess.
			if p.executable(pc-1) &&
				(calls[saved] == 0 || p.mapping(calls[saved]).path != "" && p.mapping(pc).path == "") {
				calls[saved] = pc
			}
		}
	}
	for fp := p.sp + 40; fp < top-16; fp += 8 {
		function, ok := Tagged(p.word(fp + mem.Addr(p.Frame.Function))).Object()
		if !ok || !p.IsFunction(function) {
			continue
		}
		context, ok := Tagged(p.word(fp + mem.Addr(p.Frame.Context))).Object()
		if typ, err := p.Type(context); !ok || err != nil || typ < 128 {
			continue
		}
		if pc, ok := calls[fp]; ok && mem.Addr(p.word(fp)) > fp {
			out = append(out, jsFrame{fp, pc, function})
		}
	}
	return out
}

func (p *process) executable(a mem.Addr) bool {
	m := p.mapping(a)
	return m != nil && m.perm[2] == 'x'
}

func (p *process) mapping(a mem.Addr) *mapping {
	for i := range p.maps {
		if m := &p.maps[i]; a >= m.start && a < m.end {
			return m
		}
	}
	return nil
}

// codeAt scans backwards from pc for the object that it lies in.
func (p *process) codeAt(pc mem.Addr) (Code, bool) {
	if a, ok := p.codes[pc]; ok {
		c, err := p.CodeOf(TagOf(a))
		p.must(err)
		return c, err == nil
	}
	m := p.mapping(pc)
	if m == nil || m.path != "" {
		return Code{}, false
	}
	for a := (pc - 1) &^ 7; a >= m.start && pc-a < 2<<20; a -= 8 {
		if v, err := mem.Uint(p, a, 8, le); err != nil || v&3 != 1 {
			continue
		}
		if c, err := p.CodeOf(TagOf(a)); err == nil && pc > c.Start && uint64(pc-c.Start) <= uint64(c.Size) {
			p.codes[pc] = c.Addr
			return c, true
		}
	}
	return Code{}, false
}

// named is a frame as this package names it.
type named struct {
	kind Kind
	Call
	name, file   string
	line, column int
	builtin      bool
	function     mem.Addr // of the outermost
	method       Method
	own          string
}

// expand names the functions of one frame, innermost first.
func (p *process) expand(f jsFrame) []named {
	p.t.Helper()
	kind, calls := p.calls(f)
	var out []named
	for i, c := range calls {
		n := p.name(c)
		n.kind = kind
		if i == len(calls)-1 {
			n.function = f.function
			n.method, _ = p.MethodOf(Tagged(p.word(f.fp+mem.Addr(p.Frame.Args))), f.function)
			n.own, _ = p.OwnName(f.function)
		}
		out = append(out, n)
	}
	return out
}

// calls follows the rules by which a frame's kind is found by its return address.
func (p *process) calls(f jsFrame) (Kind, []Call) {
	p.t.Helper()
	shared, err := p.FunctionAt(f.function)
	if err != nil {
		p.t.Fatal(err)
	}
	code, ok := p.codeAt(f.pc)
	pc := int(f.pc - 1 - code.Start)
	switch {
	case ok && code.Kind >= Maglev:
		return code.Kind, p.optimized(code, pc, shared)
	case ok && code.Kind == Baseline:
		b, err := p.BytecodeOf(code.Deopt)
		if !p.Version.AtLeast(10, 0) { // V8 9.4 has it in the frame alone
			b, err = p.BytecodeOf(Tagged(p.word(f.fp + mem.Addr(p.Frame.BytecodeArray))))
		}
		p.must(err)
		lengths, err := p.Table(code.Positions)
		p.must(err)
		instructions, err := p.Instructions(b)
		p.must(err)
		offset, ok := BaselineOffset(lengths, instructions, p.sizes, pc)
		if !ok {
			p.t.Errorf("no bytecode of baseline code at %d", pc)
		}
		return Baseline, []Call{p.interpreted(shared, b, offset)}
	}
	slot := Tagged(p.word(f.fp + mem.Addr(p.Frame.BytecodeArray)))
	if b, err := p.BytecodeOf(slot); err == nil {
		biased, isInt := Tagged(p.word(f.fp + mem.Addr(p.Frame.BytecodeOffset))).Int()
		offset, inside := p.BytecodeOffset(b, biased)
		if !isInt || !inside {
			p.t.Errorf("bytecode offset %d of %d", biased, b.Length)
		}
		return Interpreted, []Call{p.interpreted(shared, b, offset)}
	}
	return Other, []Call{{shared, -1}}
}

func (p *process) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Error(err)
	}
}

func (p *process) interpreted(s Shared, b Bytecode, offset int) Call {
	p.t.Helper()
	table, err := p.Table(b.Positions)
	p.must(err)
	at, ok, err := p.PositionAt(table, offset)
	p.must(err)
	if !ok {
		p.t.Errorf("no position of bytecode %d", offset)
	}
	return Call{s, at.Offset}
}

// optimized are the functions of a call of optimised code, by what it says of that call.
func (p *process) optimized(c Code, pc int, s Shared) []Call {
	p.t.Helper()
	m, err := p.CodeMapOf(c)
	if errors.Is(err, ErrUnknown) {
		return p.tabled(c, pc, s)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	i, ok := m.Returns(pc + 1)
	if !ok {
		p.t.Errorf("no frames of the call before %#x", pc+1)
		return []Call{{s, -1}}
	}
	places, err := m.Frames(p.Heap, i)
	if err != nil {
		p.t.Fatal(err)
	}
	calls := make([]Call, len(places))
	for k, f := range places {
		calls[k] = Call{f.Shared, m.Offset(p.Heap, f)}
	}
	if c.Kind == Turbofan { // whose table of positions has all but the builtins
		functions := slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return c.Offset < 0 })
		if tabled := p.tabled(c, pc, s); !slices.Equal(tabled, functions) {
			p.t.Errorf("the call before %#x is of %v, by the table of positions of %v", pc+1, functions, tabled)
		}
	}
	return calls
}

// tabled are they by the table of positions.
func (p *process) tabled(c Code, pc int, s Shared) []Call {
	p.t.Helper()
	table, err := p.Table(c.Positions)
	p.must(err)
	at, ok, err := p.PositionAt(table, pc)
	p.must(err)
	if !ok {
		p.t.Errorf("no position of code at %d, table of %d bytes", pc, len(table))
		return []Call{{s, -1}}
	}
	calls, err := p.Calls(c, at)
	p.must(err)
	if n := len(calls); n > 0 && calls[n-1].Shared != s {
		p.t.Errorf("the outermost function is %#x, that of the frame %#x", calls[n-1].Shared, s)
	}
	return calls
}

func (p *process) name(c Call) named {
	p.t.Helper()
	n := named{Call: c}
	var start int
	var err error
	n.name, start, err = p.Describe(c.Shared)
	p.must(err)
	script, ok, err := p.ScriptOf(c.Shared)
	p.must(err)
	if n.builtin = !ok; n.builtin {
		return n
	}
	n.file = script.Name
	if n.Offset < 0 {
		n.Offset = start
	}
	lines, err := p.LinesOf(script)
	p.must(err)
	if err == nil {
		if n.line, n.column, ok = lines.At(n.Offset); !ok {
			p.t.Errorf("no line at %d of %q (%s)", n.Offset, n.file, n.name)
		}
	}
	return n
}

// mode is one way to run the script.
type mode struct {
	name   string
	node   []string // flags of node
	script []string // arguments of the script
	kind   Kind     // of most frames
}

var modes = []mode{
	{"interpreter", []string{"--no-opt", "--no-sparkplug"}, []string{"3"}, Interpreted},
	{"jitless", []string{"--jitless"}, []string{"3"}, Interpreted},
	{"baseline", []string{"--no-opt", "--always-sparkplug"}, []string{"3"}, Baseline},
	{"maglev", []string{"--maglev", "--allow-natives-syntax"}, []string{"41", "maglev"}, Maglev},
	{"turbofan", []string{"--allow-natives-syntax", "--no-maglev"}, []string{"41", "turbofan"}, Turbofan},
	{"no inlining", []string{"--allow-natives-syntax", "--no-maglev", "--no-turbo-inlining"},
		[]string{"41", "turbofan"}, Turbofan},
}

// TestProcess: functions, files, lines and columns of a chain of calls are those that V8 says, in code of each
// compiler. Versions that are not there were not asked for (scripts/build-node).
func TestProcess(t *testing.T) {
	found := 0
	for _, node := range nodes {
		if _, err := os.Stat(filepath.Join(binaries, node, "bin/node")); err != nil {
			continue
		}
		found++
		for _, m := range modes {
			if m.without(node) {
				continue
			}
			t.Run(node+" "+m.name, func(t *testing.T) {
				p, want := start(t, node, slices.Concat(m.flags(node), []string{"testdata/truth.js"}, m.script)...)
				compare(t, p, want, m)
			})
		}
		t.Run(node+" quiet", func(t *testing.T) { quiet(t, node) })
	}
	if found == 0 {
		t.Skip("scripts/build-node has not been run: no node in testdata/bin/node")
	}
}

// quiet compares a process in which V8 has never been asked for a line with what it says in another one.
func quiet(t *testing.T, node string) {
	t.Helper()
	m := modes[0]
	script := append(m.flags(node), "testdata/truth.js", "3")
	_, want := start(t, node, script...)
	p, _ := start(t, node, append(script, "quiet")...)
	compare(t, p, want, m)
}

// without reports whether that version cannot run in the mode.
func (m *mode) without(node string) bool {
	return m.kind == Maglev && (node < "22" || node == "22.23.3") // which is built without Maglev
}

func (m *mode) flags(node string) []string {
	return slices.DeleteFunc(slices.Clone(m.node), func(s string) bool { return s == "--no-maglev" && node < "21" })
}

func compare(t *testing.T, p *process, want []truthFrame, m mode) {
	t.Helper()
	compareFrames(t, p, p.frames(), want, m)
}

func compareFrames(t *testing.T, p *process, frames []jsFrame, want []truthFrame, m mode) {
	t.Helper()
	deopts := p.translations() != nil
	var got []named
	kinds := map[Kind]int{}
	for _, f := range frames {
		frames := p.expand(f)
		kinds[frames[0].kind] += len(frames)
		got = append(got, frames...)
	}
	if m.kind >= Maglev && !deopts { // what it inlines of builtins leaves nothing behind
		builtin := func(g named) bool { return g.builtin }
		got = slices.DeleteFunc(got, builtin)
		want = slices.DeleteFunc(want, func(w truthFrame) bool { return w.line == 0 })
	}
	if kinds[m.kind] < 15 {
		t.Errorf("%d frames are of %v code, want 15 or more; all kinds: %v", kinds[m.kind], m.kind, kinds)
	}
	if !slices.EqualFunc(got, want, func(g named, w truthFrame) bool { return same(g, w) }) {
		for i := range max(len(got), len(want)) {
			if i < len(got) && i < len(want) && same(got[i], want[i]) {
				continue
			}
			if i < len(got) {
				g := got[i]
				t.Errorf("%2d got  %-12s %s %+v (%s) %s:%d:%d", i, g.kind, g.name, g.method, g.own, g.file, g.line,
					g.column)
			}
			if i < len(want) {
				w := want[i]
				t.Errorf("%2d want %-12s %s %s:%d:%d", i, w.receiver, w.function, w.file, w.line, w.column)
			}
		}
	}
}

// qualified are names of methods of testdata/truth.js with their class.
var qualified = map[string]string{"get sound": "Animal.get sound", "make": "Animal.make", "speak": "Animal.speak",
	"walk": "Robot.walk", "Robot.old": "Robot.old", "sort": "Array.sort", "forEach": "Array.forEach",
	"next": "next", "method": "method", "a key": "a key", "top": "top", "visit": "visit", "#hidden": "#hidden"}

// same compares a frame with V8's own. The topmost waits at another line than the one where V8 was asked; V8 knows
// computed keys, which are a property of the closure.
func same(g named, w truthFrame) bool {
	name := g.name == w.function || w.function == "computed1" && g.name == "object" &&
		(g.own == w.function || g.function == 0)
	if want, ok := qualified[w.function]; ok && g.function != 0 {
		name = g.method.Name(g.name) == want
	}
	file := g.file == w.file || g.file == Eval && w.file == ""
	where := g.line == w.line && g.column == w.column || w.function == "wait"
	return name && file && where
}

// OwnName is the name that the closure at function was given when it was made, which V8 shows in place of the one that
// all closures share: that of a computed key, or one that a program has set. It is false where there is none. It is
// read from objects that move and change, as [Heap.ClassOf].
func (h Heap) OwnName(function mem.Addr) (name string, ok bool) {
	_ = h.properties(function, func(k, value Tagged) bool {
		if !h.isString(k, "name") {
			return true
		}
		if a, isObject := value.Object(); isObject {
			if typ, err := h.Type(a); err == nil && typ < h.Types.FirstNonstring {
				name, err = h.String(value, MaxName)
				ok = err == nil && name != ""
			}
		}
		return false
	})
	return name, ok
}

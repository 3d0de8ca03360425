// Package codename reads the names that runtimes give to the code that they make, in perf maps and jitdumps: which
// function it is, in which file and line, and of which language.
//
// It knows names alone. Nothing is split off where the form is not sure: then the name stays as it is. Names may hold
// any bytes and may be forged; they lead to nothing but what is shown.
//
// Sources: v8/src/logging/log.cc, Python/perf_trampoline.c, coreclr/vm/perfmap.cpp, lj_trace.c of LuaJIT,
// ext/opcache/jit/zend_jit.c, libperf-jvmti.c of linux/tools/perf, perf-map-agent, julia/src/codegen.cpp,
// wasmtime/crates/environ; what Bun 1.4 writes.
package codename

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// Name is what a name says.
type Name struct {
	Func string
	File string // "" if it does not say
	Line int    // 0 if it does not say
	Kind profile.Kind
}

// Parse reads the name raw. Func is raw and Kind is profile.JIT where its form is not known.
func Parse(raw string) Name {
	for _, form := range []func(string) (Name, bool){javaScript, webKit, python, dotNet, wasm, java, lua, php, julia} {
		if n, ok := form(raw); ok && n.Func != "" {
			return n
		}
	}
	return Name{Func: raw, Kind: profile.JIT}
}

// anonymous is what a function without a name is called, as V8's own profiles do.
const anonymous = "(anonymous)"

// javaScript reads the names of V8: "JS:*area /srv/shape.js:2:19", with a mark for the compiler: ~ none, ^ baseline, +
// Maglev, * TurboFan, since V8 14 with o before it where it took the place of a running one, and ' behind it where it
// is for one closure alone; and those of its WebAssembly: "JS:rec-5-liftoff".
func javaScript(raw string) (Name, bool) {
	tag, rest, ok := strings.Cut(raw, ":")
	switch tag {
	case "JS", "LazyCompile", "Function", "Script", "Eval":
	default:
		return Name{}, false
	}
	if !ok || rest == "" {
		return Name{}, false
	}
	marked := strings.TrimPrefix(rest, "o")
	if marked == "" || !strings.ContainsRune("~^+*", rune(marked[0])) {
		if tag == "JS" {
			return wasmOfV8(rest)
		}
		return Name{}, false
	}
	n := Name{Func: strings.TrimPrefix(marked[1:], "'"), Kind: profile.JavaScript}
	place, _, ok := cutNumber(n.Func) // the column
	if !ok {
		return n, true
	}
	if place, n.Line, ok = cutNumber(place); !ok {
		return Name{Func: n.Func, Kind: n.Kind}, true
	}
	if at := fileIn(place); at >= 0 && at < len(place)-1 {
		n.Func, n.File = place[:at], place[at+1:]
	} else {
		n.Line = 0
	}
	if n.Func == "" {
		n.Func = anonymous
	}
	return n, true
}

// webKit reads the names of JavaScriptCore (Bun): "JSC-DFG: spin#A0Tw7i", with a hash of the function's text.
func webKit(raw string) (Name, bool) {
	tag, name, ok := strings.Cut(raw, ": ")
	switch tag {
	case "JSC-Baseline", "JSC-DFG", "JSC-FTL":
	default:
		return Name{}, false
	}
	i := strings.LastIndexByte(name, '#')
	if !ok || i < 0 {
		return Name{}, false
	}
	return Name{Func: cmp.Or(name[:i], anonymous), Kind: profile.JavaScript}, true
}

// cutNumber takes ":NUMBER" off the end of s.
func cutNumber(s string) (rest string, n int, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	v, err := strconv.ParseUint(s[i+1:], 10, 31)
	return s[:i], int(v), err == nil
}

// fileIn returns where the space is between a function and its file, -1 if that is not sure: both may have spaces.
func fileIn(s string) int {
	for i := strings.IndexByte(s, ' '); i >= 0; {
		for _, begin := range []string{"/", "node:", "file:", "http:", "https:", "internal/", "evalmachine."} {
			if strings.HasPrefix(s[i+1:], begin) {
				return i
			}
		}
		next := strings.IndexByte(s[i+1:], ' ')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	if i := strings.IndexByte(s, ' '); i == strings.LastIndexByte(s, ' ') {
		return i
	}
	return -1
}

// wasmOfV8 reads NAME-INDEX-TIER.
func wasmOfV8(s string) (Name, bool) {
	i := strings.LastIndexByte(s, '-')
	if i < 0 || s[i:] != "-liftoff" && s[i:] != "-turbofan" {
		return Name{}, false
	}
	k := strings.LastIndexByte(s[:i], '-')
	if k < 0 || !isNumber(s[k+1:i]) {
		return Name{}, false
	}
	return Name{Func: s[:k], Kind: profile.Wasm}, true
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 63)
	return err == nil
}

// python reads py::QUALIFIED.NAME:FILE. A qualified name has no colon.
func python(raw string) (Name, bool) {
	rest, ok := strings.CutPrefix(raw, "py::")
	if !ok {
		return Name{}, false
	}
	name, file, ok := strings.Cut(rest, ":")
	return Name{Func: name, File: file, Kind: profile.Python}, ok
}

// tiers end the names of .NET's methods: how they were compiled.
var tiers = []string{"[PreJIT]", "[MinOptJitted]", "[Optimized]", "[QuickJitted]", "[OptimizedTier1]",
	"[OptimizedTier1OSR]", "[InstrumentedTier]", "[InstrumentedTierOptimized]", "[OptimizedTier1Instrumented]"}

// dotNet reads RETURN [ASSEMBLY] NAMESPACE.TYPE::METHOD(ARGUMENTS)[TIER].
func dotNet(raw string) (Name, bool) {
	for _, t := range tiers {
		sig, ok := strings.CutSuffix(raw, t)
		if !ok || !strings.Contains(sig, "::") {
			continue
		}
		if open := strings.IndexByte(sig, '['); open == 0 || open > 0 && sig[open-1] == ' ' {
			if _, method, ok := strings.Cut(sig[open:], "] "); ok {
				sig = method
			}
		}
		return Name{Func: sig, Kind: profile.DotNet}, true
	}
	return Name{}, false
}

// wasm reads wasm[MODULE]::function[INDEX]::NAME of wasmtime; what has no name keeps its index.
func wasm(raw string) (Name, bool) {
	rest, ok := strings.CutPrefix(raw, "wasm[")
	if !ok {
		return Name{}, false
	}
	module, rest, ok := strings.Cut(rest, "]::function[")
	if !ok || !isNumber(module) {
		return Name{}, false
	}
	index, name, ok := strings.Cut(rest, "]")
	if !ok || !isNumber(index) {
		return Name{}, false
	}
	if name, ok := strings.CutPrefix(name, "::"); ok {
		return Name{Func: name, Kind: profile.Wasm}, true
	}
	return Name{Func: raw, Kind: profile.Wasm}, name == ""
}

// java reads the descriptor of a class and a method, with "::" between or with the descriptor of the method behind:
// Lorg/x/Bar;::m and Lorg/x/Bar;m(I)V.
func java(raw string) (Name, bool) {
	class, method, ok := strings.Cut(raw, ";")
	if !ok || !strings.HasPrefix(class, "L") || strings.ContainsAny(class, " \t(:") {
		return Name{}, false
	}
	m, colons := strings.CutPrefix(method, "::")
	m, _, arguments := strings.Cut(m, "(")
	if !colons && !arguments || m == "" {
		return Name{}, false
	}
	return Name{Func: strings.ReplaceAll(class[1:], "/", ".") + "." + m, Kind: profile.Java}, true
}

// lua reads TRACE_NUMBER::FILE:LINE of LuaJIT.
func lua(raw string) (Name, bool) {
	trace, place, ok := strings.Cut(raw, "::")
	number, isTrace := strings.CutPrefix(trace, "TRACE_")
	file, line, numbered := cutNumber(place)
	if !ok || !isTrace || !isNumber(number) || !numbered {
		return Name{}, false
	}
	file = strings.TrimPrefix(file, "@")
	return Name{Func: trace, File: file, Line: line, Kind: profile.Lua}, file != ""
}

// php reads JIT$CLASS::METHOD, JIT$FILE, and TRACE-NUMBER$FUNCTION$LINE. JIT$$ begins what belongs to no function.
func php(raw string) (Name, bool) {
	if name, ok := strings.CutPrefix(raw, "JIT$"); ok {
		if strings.HasPrefix(name, "/") {
			return Name{Func: "(main)", File: name, Kind: profile.PHP}, true
		}
		return Name{Func: name, Kind: profile.PHP}, !strings.HasPrefix(name, "$")
	}
	trace, ok := strings.CutPrefix(raw, "TRACE-")
	parts := strings.Split(trace, "$")
	if !ok || len(parts) != 3 || !isNumber(parts[0]) || !isNumber(parts[2]) {
		return Name{}, false
	}
	return Name{Func: parts[1], Kind: profile.PHP}, true
}

// julia reads julia_NAME_NUMBER.
func julia(raw string) (Name, bool) {
	rest, ok := strings.CutPrefix(raw, "julia_")
	i := strings.LastIndexByte(rest, '_')
	if !ok || i < 0 || !isNumber(rest[i+1:]) {
		return Name{}, false
	}
	return Name{Func: rest[:i], Kind: profile.Julia}, true
}

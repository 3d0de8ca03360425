package codename

import (
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// TestParse: names as node 20 and 22, Python 3.12 and .NET 10 wrote them (seen), and those of others as their sources
// say.
func TestParse(t *testing.T) {
	const js, jit, py = profile.JavaScript, profile.JIT, profile.Python
	for raw, want := range map[string]Name{
		"JS:*area /tmp/x/hot.js:2:19":                  {"area", "/tmp/x/hot.js", 2, js},
		"JS:o*spin file:///srv/loop.js:1:14":           {"spin", "file:///srv/loop.js", 1, js},
		"JS:+'spin file:///srv/loop.js:1:14":           {"spin", "file:///srv/loop.js", 1, js},
		"JS:o":                                         {"JS:o", "", 0, profile.JIT},
		"JSC-DFG: spin#A0Tw7i":                         {"spin", "", 0, js},
		"JSC-FTL: #A0Tw7i":                             {"(anonymous)", "", 0, js},
		"JSC-DFGOSREntry: unspecified":                 {"JSC-DFGOSREntry: unspecified", "", 0, profile.JIT},
		"JS:^get size /tmp/a b/hot.js:2:56":            {"get size", "/tmp/a b/hot.js", 2, js},
		"JS:~odd name; x /tmp/hot.js:6:37":             {"odd name; x", "/tmp/hot.js", 6, js},
		"JS:* /tmp/hot.js:5:73":                        {"(anonymous)", "/tmp/hot.js", 5, js},
		"JS:^normalizeString node:path:93:25":          {"normalizeString", "node:path", 93, js},
		"JS:+f file:///srv/x.mjs:1:2":                  {"f", "file:///srv/x.mjs", 1, js},
		"LazyCompile:*f x.js:7:1":                      {"f", "x.js", 7, js},
		"JS:*a b c.js:7:1":                             {"a b c.js:7:1", "", 0, js}, // not sure
		"Eval:~ /tmp/hot.js:1:1":                       {"(anonymous)", "/tmp/hot.js", 1, js},
		"JS:*f":                                        {"f", "", 0, js},
		"JS:*f x:1":                                    {"f x:1", "", 0, js},
		"JS:*f /x:99999999999:1":                       {"f /x:99999999999:1", "", 0, js},
		"JS:rec-5-liftoff":                             {"rec", "", 0, profile.Wasm},
		"JS:a-b-12-turbofan":                           {"a-b", "", 0, profile.Wasm},
		"JS:rec-x-liftoff":                             {"JS:rec-x-liftoff", "", 0, jit},
		"Builtin:ArrayMap":                             {"Builtin:ArrayMap", "", 0, jit},
		"JS:":                                          {"JS:", "", 0, jit},
		"py::A.f.<locals>.<lambda>:/srv/a:b.py":        {"A.f.<locals>.<lambda>", "/srv/a:b.py", 0, py},
		"py::BufferedDecoder.getstate:<frozen codecs>": {"BufferedDecoder.getstate", "<frozen codecs>", 0, py},
		"py::nothing":                                  {"py::nothing", "", 0, jit},
		"void [System.Private.CoreLib] A.B::C(int32)[PreJIT]": {"A.B::C(int32)", "", 0, profile.DotNet},
		"instance void [x] A.B`1[System.__Canon]::C(class [y]Z)[OptimizedTier1]": {
			"A.B`1[System.__Canon]::C(class [y]Z)", "", 0, profile.DotNet},
		"stub<1> AllocateTemporaryEntryPoints":     {"stub<1> AllocateTemporaryEntryPoints", "", 0, jit},
		"wasm[0]::function[12]::spin::leaf":        {"spin::leaf", "", 0, profile.Wasm},
		"wasm[0]::function[8]":                     {"wasm[0]::function[8]", "", 0, profile.Wasm},
		"wasm[0]::array_to_wasm_trampoline[13]":    {"wasm[0]::array_to_wasm_trampoline[13]", "", 0, jit},
		"Ljava/lang/String;::valueOf":              {"java.lang.String.valueOf", "", 0, profile.Java},
		"Ljava/util/HashMap;get(Ljava/lang/X;)V":   {"java.util.HashMap.get", "", 0, profile.Java},
		"Lost; and found":                          {"Lost; and found", "", 0, jit},
		"TRACE_7::@/srv/a.lua:31":                  {"TRACE_7", "/srv/a.lua", 31, profile.Lua},
		"TRACE_x::a:1":                             {"TRACE_x::a:1", "", 0, jit},
		"JIT$Foo::bar":                             {"Foo::bar", "", 0, profile.PHP},
		"JIT$/srv/index.php":                       {"(main)", "/srv/index.php", 0, profile.PHP},
		"JIT$$exception_handler":                   {"JIT$$exception_handler", "", 0, jit},
		"TRACE-12$Foo::bar$31":                     {"Foo::bar", "", 0, profile.PHP},
		"julia_fib_214":                            {"fib", "", 0, profile.Julia},
		"julia_214":                                {"julia_214", "", 0, jit},
		"":                                         {"", "", 0, jit},
		"plain":                                    {"plain", "", 0, jit},
		"\x1b[31m;\n\xff":                          {"\x1b[31m;\n\xff", "", 0, jit},
		"java.lang.String java.lang.String.f(int)": {"java.lang.String java.lang.String.f(int)", "", 0, jit},
	} {
		if got := Parse(raw); got != want {
			t.Errorf("%q: got %+v, want %+v", raw, got, want)
		}
	}
}

// FuzzParse: whatever the name is, what is shown of it was in it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"JS:*f /x:1:2", "py::a:b", "void [a] b::c()[PreJIT]", "wasm[0]::function[1]::x",
		"La/b;::c", "TRACE_1::a:2", "JIT$x", "TRACE-1$a$2", "julia_f_1", "JS:a-1-liftoff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		n := Parse(raw)
		if n.Func == "" && raw != "" || n.Line < 0 || n.Line != 0 && n.File == "" || !strings.Contains(raw, n.File) ||
			!n.Kind.Made() {
			t.Errorf("%q: %+v", raw, n)
		}
	})
}

package heap

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
)

// recorded returns the symbols of one version of Node.js from testdata/symbols.
func recorded(t testing.TB, node string) map[string]int32 {
	t.Helper()
	text, err := os.ReadFile("testdata/symbols")
	if err != nil {
		t.Fatal(err)
	}
	column := -1
	out := map[string]int32{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "symbol":
			for i, w := range words {
				if w == node {
					column = i
				}
			}
			if column < 0 {
				t.Fatalf("no column %s", node)
			}
		case words[column] != "-":
			value, err := strconv.ParseInt(words[column], 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			name := words[0]
			if !strings.HasPrefix(name, "_ZN") {
				name = debugPrefix + name
			}
			out[name] = int32(value)
		}
	}
	return out
}

func lookupIn(m map[string]int32) func(string) (int32, bool) {
	return func(s string) (int32, bool) { v, ok := m[s]; return v, ok }
}

// layoutOf reads the Layout of one version of Node.js.
func layoutOf(t testing.TB, node string) *Layout {
	t.Helper()
	l, err := Read(lookupIn(recorded(t, node)))
	if err != nil {
		t.Fatalf("node %s: %v", node, err)
	}
	return l
}

var nodes = []string{"16.20.2", "18.0.0", "18.20.8", "20.0.0", "20.20.2", "21.7.3", "22.0.0", "22.23.3", "23.11.1",
	"24.0.0", "24.21.0", "25.9.0", "26.10.0"}

// TestRead compares what the versions differ in with what was seen in their processes.
func TestRead(t *testing.T) {
	for _, tc := range []struct {
		node                                            string
		v8                                              Version
		shared, nameOrScope, script, positions, data    int32
		deopt, table, start, flags, size                int32
		baseline, turbofan, vars, literals, sfi, inline int32
		codeInline                                      bool
		interpreted                                     int32
	}{
		{"16.20.2", Version{9, 4, 146}, 24, 16, 32, 32, 54, 16, 24, 96, 48, 40, 11, 13, 3, 2, 6, 7, true, 11},
		{"18.0.0", Version{10, 1, 124}, 24, 16, 32, 32, 54, 16, 24, 128, 48, 40, 11, 13, 3, 2, 6, 7, true, 12},
		{"18.20.8", Version{10, 2, 154}, 24, 16, 32, 32, 56, 16, 24, 128, 48, 40, 11, 13, 3, 2, 6, 7, true, 12},
		{"20.20.2", Version{11, 3, 244}, 24, 16, 32, 32, 54, 16, 24, 40, 48, 56, 11, 13, 3, 2, 6, 7, false, 13},
		{"21.7.3", Version{11, 8, 172}, 32, 16, 32, 32, 52, 8, 16, 32, 40, 44, 11, 13, 3, 2, 6, 7, false, 13},
		{"22.23.3", Version{12, 4, 254}, 32, 16, 32, 24, 64, 8, 16, 40, 48, 52, 10, 12, 3, 2, 6, 7, false, 13},
		{"23.11.1", Version{12, 9, 202}, 32, 24, 40, 24, 64, 8, 16, 40, 48, 52, 10, 12, 5, 2, 6, 7, false, 13},
		{"24.21.0", Version{13, 6, 233}, 32, 24, 40, 24, 64, 8, 16, 40, 52, 56, 10, 12, 5, 3, 7, 8, false, 14},
		{"25.9.0", Version{14, 1, 146}, 32, 24, 40, 24, 64, 8, 16, 40, 52, 56, 10, 12, 5, 3, 7, 8, false, 14},
		{"26.10.0", Version{14, 6, 202}, 32, 24, 40, 24, 64, 8, 16, 40, 52, 56, 11, 13, 5, 3, 7, 8, false, 4},
	} {
		l := layoutOf(t, tc.node)
		got := tc
		got.v8, got.shared = l.Version, l.Function.Shared
		got.nameOrScope, got.script = l.Shared.NameOrScope, l.Shared.Script
		got.positions, got.data = l.Bytecode.Positions, l.Bytecode.Data
		got.deopt, got.table, got.start = l.Code.Deopt, l.Code.Positions, l.Code.Start
		got.flags, got.size = l.Code.Flags, l.Code.Size
		got.baseline, got.turbofan, got.vars = l.Kinds.Baseline, l.Kinds.Turbofan, l.Scope.FirstVars
		got.literals, got.sfi, got.inline = l.Deopt.Literals, l.Deopt.Shared, l.Deopt.Inlining
		got.codeInline = l.Code.Inline
		if got != tc {
			t.Errorf("node %s:\n got %+v\nwant %+v", tc.node, got, tc)
		}
		if name, _ := l.FrameType(tc.interpreted); name != "InterpretedFrame" {
			t.Errorf("node %s: frame type %d is %q", tc.node, tc.interpreted, name)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(map[string]int32)
		want   error
		says   string
	}{
		{"no V8", func(m map[string]int32) { clear(m) }, ErrNotV8, ""},
		{"compressed pointers", func(m map[string]int32) { m["v8dbg_SmiShiftSize"] = 0 }, ErrUnsupported,
			"pointer compression is on"},
		{"compressed, another symbol", func(m map[string]int32) { m["v8dbg_TaggedSize"] = 4 }, ErrUnsupported,
			"pointer compression is on"},
		{"32 bits", func(m map[string]int32) { m["v8dbg_SystemPointerSize"] = 4 }, ErrUnsupported, "not 8 bytes"},
		{"no version", func(m map[string]int32) { delete(m, versionPrefix+"6major_E") }, ErrUnsupported, "version"},
		{"old", func(m map[string]int32) { m[versionPrefix+"6major_E"] = 8 }, ErrUnsupported, "older than 9.4"},
		{"no type of a script", func(m map[string]int32) { delete(m, "v8dbg_type_Script__SCRIPT_TYPE") },
			ErrUnsupported, "v8dbg_type_Script__SCRIPT_TYPE"},
		{"a type that is none", func(m map[string]int32) { m["v8dbg_type_Script__SCRIPT_TYPE"] = -1 },
			ErrUnsupported, "is -1"},
	} {
		symbols := recorded(t, "22.23.3")
		tc.change(symbols)
		_, err := Read(lookupIn(symbols))
		if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %v with %q", tc.name, err, tc.want, tc.says)
		}
	}
}

// TestNewerVersion: a V8 that is newer than what was tried is read if its symbols say as much as those of the newest
// that was, and says that it was not tried. One of which a symbol is missing, or that says what cannot be, is refused.
func TestNewerVersion(t *testing.T) {
	newer := recorded(t, "26.10.0")
	newer[versionPrefix+"6major_E"], newer[versionPrefix+"6minor_E"] = 15, 1
	read := func() (*Layout, error) {
		return Read(func(s string) (int32, bool) { v, ok := newer[s]; return v, ok })
	}
	l, err := read()
	if err != nil {
		t.Fatal(err)
	}
	if l.Untried() == "" {
		t.Error("a newer V8 counts as tried")
	}
	if l := layoutOf(t, "26.10.0"); l.Untried() != "" {
		t.Errorf("the newest that was tried: %q", l.Untried())
	}
	const name = debugPrefix + "class_String__length__int32_t"
	for _, wrong := range []int32{1 << 20, -1 << 20} {
		newer[name] = wrong
		if _, err := read(); !errors.Is(err, ErrUnsupported) {
			t.Errorf("a length at %d: %v", wrong, err)
		}
	}
	delete(newer, name)
	if _, err := read(); !errors.Is(err, ErrUnsupported) {
		t.Errorf("without %s: %v", name, err)
	}
}

// TestMayRefer: objects are anywhere where arm64 has the memory of processes.
func TestMayRefer(t *testing.T) {
	for w, want := range map[uint64]bool{0x7fff80001001: true, 0xaaaad0001801: true, 0xffffa4800001: true, 0: false,
		0x11: false, 0xaaaad0001800: false, 0xaaaad0001803: false, 1<<48 + 0x1001: false} {
		if got := MayRefer(w); got != want {
			t.Errorf("%#x: got %t", w, got)
		}
	}
}

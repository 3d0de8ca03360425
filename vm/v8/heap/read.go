package heap

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNotV8 says that an object exports no v8dbg_ symbols, so that it is no V8 or one that cannot be read.
var ErrNotV8 = errors.New("it exports no v8dbg_ symbols")

// ErrUnsupported says that it is a V8 whose heap is laid out in a way that this package does not read.
var ErrUnsupported = errors.New("this layout of V8's heap is not supported")

// Prefixes of the symbols that [Read] looks up.
const (
	debugPrefix   = "v8dbg_"
	versionPrefix = "_ZN2v88internal7Version"
)

// Read makes the Layout of a V8 from its symbols: lookup returns the int32 at a symbol in the file, 0 for one in .bss,
// and false if there is no such symbol. All of them are in .dynsym, so a stripped file has them too.
//
// What a V8 does not export is taken from the versions that were tried. A newer version is read if its symbols say all
// that those of the newest of them say; the rest is taken from that ([Layout.Untried]). It fails with [ErrNotV8] or
// [ErrUnsupported].
// Source of the names: tools/gen-postmortem-metadata.py of V8.
func Read(lookup func(symbol string) (int32, bool)) (*Layout, error) {
	if _, ok := lookup(debugPrefix + "SmiTagMask"); !ok {
		return nil, ErrNotV8
	}
	v, ok := version(lookup)
	if !ok {
		return nil, fmt.Errorf("%w: its version is not known", ErrUnsupported)
	}
	if !v.AtLeast(9, 4) {
		return nil, fmt.Errorf("%w: V8 %v is older than 9.4, that of Node.js 16", ErrUnsupported, v)
	}
	if err := checkWords(v, lookup); err != nil {
		return nil, err
	}
	l := &Layout{Version: v}
	if err := l.readFields(lookup); err != nil {
		return nil, err
	}
	if err := l.readTypes(lookup); err != nil {
		return nil, err
	}
	l.readFrameTypes(lookup)
	l.derive(lookup)
	return l, nil
}

// version reads the numbers of class Version in src/utils/version.h.
func version(lookup func(string) (int32, bool)) (Version, bool) {
	major, ok := lookup(versionPrefix + "6major_E")
	minor, ok2 := lookup(versionPrefix + "6minor_E")
	build, ok3 := lookup(versionPrefix + "6build_E")
	return Version{major, minor, build}, ok && ok2 && ok3
}

// checkWords refuses heaps whose words are not tagged pointers of 8 bytes. The sandbox needs compressed pointers
// (BUILD.gn of V8), so that it is refused with them.
func checkWords(v Version, lookup func(string) (int32, bool)) error {
	for _, want := range []struct {
		symbol string
		value  int32
		why    string
	}{
		{"SmiShiftSize", 31, "pointer compression is on"},
		{"TaggedSize", 8, "pointer compression is on"},
		{"SystemPointerSize", 8, "words are not 8 bytes"},
		{"SmiTag", 0, "small integers are tagged otherwise"},
		{"SmiTagMask", 1, "small integers are tagged otherwise"},
		{"HeapObjectTag", 1, "pointers are tagged otherwise"},
		{"HeapObjectTagMask", 3, "pointers are tagged otherwise"},
	} {
		if got, ok := lookup(debugPrefix + want.symbol); ok && got != want.value {
			return fmt.Errorf("%w: %s (V8 %v, %s is %d, not %d)", ErrUnsupported, want.why, v, want.symbol, got,
				want.value)
		}
	}
	return nil
}

// step is a value that holds from a version on.
type step struct {
	major, minor int32
	value        int32
}

// always is a value that held in all versions that were tried.
func always(value int32) []step { return []step{{0, 0, value}} }

// since are two values: one up to a version, another from it on.
func since(before, major, minor, value int32) []step {
	return []step{{0, 0, before}, {major, minor, value}}
}

// field is one number of a Layout: the symbols that may hold it, without prefix, and what it is without them.
type field struct {
	to      *int32
	symbols []string
	steps   []step
}

// unsaid are the fields that the newest V8 that was tried has a symbol for no more.
var unsaid = []string{"class_SharedFunctionInfo__function_data__Object",
	"class_BytecodeArray__source_position_table__Object", "class_Script__line_offset__SMI",
	"class_Script__column_offset__SMI", "class_Code__deoptimization_data__FixedArray",
	"class_Code__source_position_table__ByteArray", "DeoptimizationDataSharedFunctionInfoIndex"}

// maxOffset bounds an offset, which may be below a frame pointer; masks are larger.
const maxOffset = 1 << 12

func (f *field) read(v Version, lookup func(string) (int32, bool)) error {
	for _, name := range f.symbols {
		value, ok := lookup(debugPrefix + name)
		switch {
		case !ok:
			continue
		case (value < -maxOffset || value > maxOffset) && !strings.HasSuffix(strings.ToLower(name), "mask"):
			return fmt.Errorf("%w: V8 %v: %s is %d", ErrUnsupported, v, debugPrefix+name, value)
		}
		*f.to = value
		return nil
	}
	if len(f.symbols) > 0 && v.untried() && !slices.Contains(unsaid, f.symbols[0]) {
		return fmt.Errorf("%w: V8 %v is newer than %v and has no symbol %s", ErrUnsupported, v, newest,
			debugPrefix+f.symbols[0])
	}
	for _, s := range f.steps {
		if v.AtLeast(s.major, s.minor) {
			*f.to = s.value
		}
	}
	return nil
}

func (l *Layout) readFields(lookup func(string) (int32, bool)) error {
	for _, group := range [][]field{l.frameFields(), l.objectFields(), l.functionFields(), l.codeFields()} {
		for i := range group {
			if err := group[i].read(l.Version, lookup); err != nil {
				return err
			}
		}
	}
	return nil
}

// readTypes reads instance types, of which those without a fallback must be there.
func (l *Layout) readTypes(lookup func(string) (int32, bool)) error {
	for _, t := range l.typeFields() {
		value, ok := lookup(debugPrefix + t.symbol)
		if !ok && t.needed {
			return fmt.Errorf("%w: V8 %v has no symbol %s", ErrUnsupported, l.Version, debugPrefix+t.symbol)
		}
		if value < 0 || value > 0xffff {
			return fmt.Errorf("%w: V8 %v: %s is %d", ErrUnsupported, l.Version, debugPrefix+t.symbol, value)
		}
		*t.to = uint16(value)
	}
	return nil
}

func (l *Layout) readFrameTypes(lookup func(string) (int32, bool)) {
	l.frameTypes = make(map[int32]string, len(frameTypeNames))
	for _, name := range frameTypeNames {
		if number, ok := lookup(debugPrefix + "frametype_" + name); ok {
			l.frameTypes[number] = name
		}
	}
}

// derive sets what follows from the presence of symbols.
func (l *Layout) derive(lookup func(string) (int32, bool)) {
	t := &l.Types
	if t.LastFunction == 0 {
		// JSFunction has subclasses, for each kind of typed array constructor and others, and class constructors
		// last (src/objects/js-function.tq); symbols of the range appear in V8 11.8.
		t.LastFunction = t.FirstFunction + 15
	}
	if t.FirstNonstring == 0 {
		t.FirstNonstring = 128
		if mask, ok := lookup(debugPrefix + "IsNotStringMask"); ok && mask < 0 && mask > -0x8000 {
			t.FirstNonstring = uint16(-mask)
		}
	}
	// A hash table has three numbers, those of a dictionary follow.
	start, ok := lookup(debugPrefix + "namedictionary_prefix_start_index")
	size, ok2 := lookup(debugPrefix + "namedictionaryshape_prefix_size")
	if l.DictionaryFirst = start + size; !ok || !ok2 {
		l.DictionaryFirst = 6
	}
	// Nothing says where these are but a field that came in front of them.
	l.Script.SourceURL, l.Script.MapURL = 104, 112
	for _, name := range typed("class_Script__compiled_lazy_function_positions", "Object") {
		if _, ok := lookup(debugPrefix + name); ok {
			l.Script.SourceURL, l.Script.MapURL = 112, 120
		}
	}
	l.Code.Inline = t.InstructionStream == 0
	k := &l.Kinds
	if k.Interpreted == 0 {
		k.Interpreted = k.Baseline - 1
	}
	// MAGLEV came with V8 10.9, between BASELINE and TURBOFAN; before it TURBOPROP had been there (CodeKind in
	// src/objects/code-kind.h).
	k.Turbofan = k.Baseline + 2
	if t.InstructionStream != 0 {
		k.Maglev = k.Baseline + 1
	}
	for _, wrapped := range wrappedShared {
		if index, ok := lookup(debugPrefix + wrapped); ok {
			l.Deopt.Shared = index
		}
	}
	if l.Deopt.Shared == 0 {
		l.Deopt.Shared = 6
		if l.Version.AtLeast(12, 8) { // no symbol, yet newer than those that hold it bare
			l.Deopt.Shared = l.Deopt.Inlining - 1
		}
	}
}

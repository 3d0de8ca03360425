package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fpstack/fpstack/check"
)

const leafFlags = "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer"

func checkedLibrary(path string) *check.Module {
	return &check.Module{Path: path, BuildID: "93ac61ec", Arch: "amd64", Code: 100_000,
		Tables:  check.Tables{Kinds: []check.TableKind{{Name: ".eh_frame", Covered: 99_800}}, Covered: 99_800},
		Symbols: []check.SymbolTable{{Name: ".dynsym", Functions: 2200}},
		Frames: check.FramePointers{From: "unwind tables", All: 3626, Looked: 500, Kept: 11, Missing: 278,
			NotNeeded: 211}}
}

// checkedServer is a server in C whose chain breaks in libc and in its own code.
func checkedServer() *check.Report {
	const libcPath = "/usr/lib/x86_64-linux-gnu/libc.so.6"
	gcc := []check.Compiler{{Kind: "gcc", Version: "GCC: (Debian 12.2.0-14) 12.2.0"}}
	server := &check.Module{Path: "/opt/app/server", BuildID: "8952988b", Arch: "amd64", Compilers: gcc, Code: 1050,
		Tables: check.Tables{Kinds: []check.TableKind{{Name: ".eh_frame", Covered: 50},
			{Name: ".debug_frame", Covered: 900}}, Covered: 950, NoIndex: true},
		Symbols: []check.SymbolTable{{Name: ".symtab", Path: "/usr/lib/debug/.build-id/89/52988b.debug", Functions: 12},
			{Name: ".dynsym", Functions: 1}},
		Lines: check.Lines{Kind: "dwarf", Path: "/usr/lib/debug/.build-id/89/52988b.debug"},
		Frames: check.FramePointers{From: ".symtab", All: 12, Looked: 12, Kept: 1, Missing: 7, NotNeeded: 3,
			Unclear: 1},
		Notes: []string{"85.7% of the code is covered by .debug_frame alone, which strip removes"}}
	return &check.Report{PID: 4121, Comm: "server", Required: []check.Aspect{check.FP, check.Unwind}, Unnamed: 2,
		UnnamedBytes: 65536,
		Modules: []*check.Module{server, checkedLibrary(libcPath), checkedLibrary("/usr/lib/libm.so.6"),
			checkedLibrary("/usr/lib/libz.so.1"),
			{Path: "/opt/app/plugin.so", Deleted: true, Err: errors.New(`open "/opt/app/plugin.so": no such file`)},
			{Path: "[vdso]", VDSO: true, Code: 100}},
		Threads: []check.Thread{
			{TIDs: []int{4121}, Names: []string{"server"}, Frames: 6, Reached: 1,
				Breaks: []check.Break{{Frame: 0, Function: "pause", Module: libcPath,
					Effect: check.Ends, Lost: 5, Reason: "frame pointer 0x55f83624500e is not aligned to 8 bytes",
					Mend: "gcc: " +
						leafFlags,
					Also: []check.Culprit{{Function: "bottom", Module: "/opt/app/server", Frames: 1,
						Mend: "gcc: " + leafFlags},
						{Function: "descend", Module: "/opt/app/server", Frames: 10, Mend: "gcc: " + leafFlags}}}}},
			{TIDs: []int{4122, 4123, 4125}, Names: []string{"w", "w", "x"}, Frames: 9, Reached: 7, MoreBreaks: 1,
				Stop: "no rule: no table", Breaks: []check.Break{
					{Frame: 1, Effect: check.Skips, Lost: 1,
						Reason: "a signal came: the chain goes on behind what it " +
							"interrupted",
						Signal: true, Module: libcPath},
					{Frame: 4, Effect: check.Astray, Lost: 2,
						Reason: "the frame pointer leads to 0x66, which is no frame of the stack",
						Mend:   "no file holds this code"}}},
			{TIDs: []int{4130}, Names: []string{"io"}, NotWalked: "thread 4130 has no registers"},
		}}
}

func checkCases() map[string]*check.Report {
	quiet := checkedServer()
	quiet.Required, quiet.Threads, quiet.Modules = nil, nil, quiet.Modules[1:4]
	fine := checkedLibrary("/opt/app/fine")
	fine.Symbols, fine.Lines = []check.SymbolTable{{Name: "pclntab", Functions: 100}}, check.Lines{Kind: "go"}
	fine.Frames = check.FramePointers{From: "pclntab", All: 100, Looked: 100, NotNeeded: 100}
	hostile := checkedLibrary("a\x1b[31m\n\u202e\xff")
	hostile.Compilers = []check.Compiler{{Version: "evil\x1b]0;\x07"}}
	hostile.Notes = []string{"b\x1b[31m"}
	return map[string]*check.Report{
		"check-server": checkedServer(), "check-system": quiet,
		"check-files": {Modules: []*check.Module{fine, {Path: "/opt/app/data.so"}},
			Required: []check.Aspect{check.Names}},
		"check-escapes": {PID: 9, Comm: "\x1b[2J", Modules: []*check.Module{hostile}, Problems: []string{"c\x1b[31m"},
			Threads: []check.Thread{{TIDs: []int{9}, Names: []string{"\x1b"},
				Frames: 2, Reached: 1, Stop: "\x1b",
				Breaks: []check.Break{{Function: "f\x1b", Module: "/m\n", Reason: "\r", Mend: "\b",
					Also: []check.Culprit{{Function: "\x7f", Frames: 1}}}}}}},
	}
}

func TestCheckGoldens(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	schema, err := compiler.Compile("../docs/schema/fpstack.check.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range checkCases() {
		t.Run(name, func(t *testing.T) {
			for suffix, verbose := range map[string]bool{".txt": false, "--verbose.txt": true} {
				var text bytes.Buffer
				if err := CheckText(&text, r, verbose, nil, 0); err != nil {
					t.Fatal(err)
				}
				compare(t, name+suffix, text.Bytes())
				if at := strings.IndexFunc(text.String(),
					func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); at >= 0 {
					t.Errorf("text has %.6q raw", text.String()[at:])
				}
			}
			var out bytes.Buffer
			if err := CheckJSON(&out, r); err != nil {
				t.Fatal(err)
			}
			compare(t, name+".json", out.Bytes())
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Error(err)
			}
		})
	}
}

// What would break the contract must not pass.
func TestCheckSchemaRefuses(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../docs/schema/fpstack.check.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var good bytes.Buffer
	if err := CheckJSON(&good, checkedServer()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, old, new string }{
		{"another schema", `"fpstack.check/1"`, `"fpstack.check/2"`},
		{"unknown aspect", `"aspect": "tables"`, `"aspect": "taste"`},
		{"unknown effect", `"effect": "ends"`, `"effect": "bends"`},
		{"negative count", `"reached": 7`, `"reached": -7`},
		{"unknown member", `"system": true`, `"system": true, "more": 1`},
	} {
		bad := strings.Replace(good.String(), tt.old, tt.new, 1)
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(bad))
		if err != nil || bad == good.String() {
			t.Fatalf("%s: %v, or %s is not in the document", tt.name, err, tt.old)
		}
		if schema.Validate(doc) == nil {
			t.Errorf("schema accepts %s", tt.name)
		}
	}
}

// Nothing is left out without a word: what is not shown is counted.
func TestCheckCountsWhatItHides(t *testing.T) {
	var text bytes.Buffer
	if err := CheckText(&text, checkCases()["check-system"], false, nil, 0); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); !strings.Contains(got, "3 modules") || !strings.Contains(got, "3 of the system") {
		t.Errorf("got:\n%s", got)
	}
}

package report

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fpstack/fpstack/profile"
)

// dumpSchema is the published schema, compiled with its formats (date-time) asserted.
var dumpSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	return compiler.Compile("../docs/schema/fpstack.dump.1.schema.json")
})

// checkJSON writes d as JSON, validates it, and fails on a character that does not print.
func checkJSON(t *testing.T, d *profile.Dump, opt Options) []byte {
	t.Helper()
	schema, err := dumpSchema()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := JSON(&out, d, opt); err != nil {
		t.Fatal(err)
	}
	if at := bytes.IndexFunc(out.Bytes(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); at >= 0 {
		t.Fatalf("output has %.4q raw", out.Bytes()[at:])
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, out.String())
	}
	if err := schema.Validate(doc); err != nil {
		t.Errorf("%v in:\n%s", err, out.String())
	}
	return out.Bytes()
}

func TestJSONFitsSchema(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) { checkJSON(t, c.dump, c.opt) })
	}
}

// A document that breaks the contract must not pass, else the tests above prove nothing.
func TestSchemaRefuses(t *testing.T) {
	schema, err := dumpSchema()
	if err != nil {
		t.Fatal(err)
	}
	good := string(checkJSON(t, redis(), Options{}))
	tests := []struct{ name, old, new string }{
		{"another schema", `"fpstack.dump/1"`, `"fpstack.dump/2"`},
		{"address as a number", `"address": "0x7f3a1b2f0e26"`, `"address": 139887`},
		{"address with leading zeros", `"address": "0x7f3a1b2f0e26"`, `"address": "0x00007f3a1b2f0e26"`},
		{"unknown member", `"rolling": false`, `"rolling": false, "more": 1`},
		{"unknown kind", `"kind": "native"`, `"kind": "other"`},
		{"physical frame without address", `"address": "0x7f3a1b2f0e26",`, ``},
		{"inlined frame with address", `"inlined": true`, `"inlined": true, "address": "0x1"`},
		{"line without file", `"file": "src/ae_epoll.c",`, ``},
		{"time that is none", `"2026-03-04T05:06:07.000008Z"`, `"yesterday"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bad := strings.Replace(good, tt.old, tt.new, 1)
			if bad == good {
				t.Fatalf("%s is not in the document", tt.old)
			}
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(bad))
			if err != nil {
				t.Fatal(err)
			}
			if schema.Validate(doc) == nil {
				t.Errorf("schema accepts %s", tt.new)
			}
		})
	}
}

// The bytes of a name can be had back from the document.
func TestJSONKeepsBytes(t *testing.T) {
	for _, name := range []string{"plain", `C:\tmp\x1b`, "\x1b[31m\n\x00\x7f", "\xff\xfe\xc3",
		"\u009b\u202e\U000e0001漢", `\xff` + "\xff"} {
		d := redis()
		d.Threads[0].Name = name
		var doc struct{ Threads []struct{ Name string } }
		if err := json.Unmarshal(checkJSON(t, d, Options{}), &doc); err != nil {
			t.Fatal(err)
		}
		if got := undo(t, doc.Threads[0].Name); got != name {
			t.Errorf("name %q came back as %q from %q", name, got, doc.Threads[0].Name)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add("redis-server", 0, 0)
	f.Add("\x1b]0;title\x07\u202e\xff\r\n\\x1b", 3, -7)
	f.Fuzz(func(t *testing.T, name string, module, skip int) {
		d := hostile(name)
		d.Threads = d.Threads[:1]
		d.Threads[0].Stack.Frames[0].Module = module
		checkJSON(t, d, Options{SkipFrames: skip})
	})
}

// undo reads a string as the schema says.
func undo(t *testing.T, s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\':
			b.WriteByte(s[i])
		case s[i+1] == '\\':
			b.WriteByte('\\')
			i++
		default:
			v, err := strconv.ParseUint(s[i+2:i+4], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			b.WriteByte(byte(v))
			i += 3
		}
	}
	return b.String()
}

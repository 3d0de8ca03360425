package flame

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fpstack/fpstack/profile"
)

// checkSchema validates a document by a schema file, its formats asserted.
func checkSchema(t *testing.T, path string, text []byte) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	if err := schema.Validate(doc); err != nil {
		t.Errorf("%v in:\n%.2000s", err, text)
	}
}

const profileSchema = "../docs/schema/fpstack.profile.1.schema.json"

func asJSON(t *testing.T, p *profile.Profile) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := WriteJSON(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestJSONComesBack(t *testing.T) {
	zone := sampled()
	zone.Start = zone.Start.In(time.FixedZone("", 3600))
	full := sampled()
	full.Modules[1].Err = "permission denied"
	full.Frames[0].Func = "<script>&\u2028\u202e\U000e0001\"\\\x00\t\xff\xc3 \\x41 \\\\"
	full.Frames[1].Addr = 1<<64 - 1
	full.Samples = append(full.Samples, profile.Sample{Task: -1})
	full.Values = append(full.Values, 1<<60, 0, 0)
	noRuns := sampled()
	noRuns.Runs = nil
	empty := &profile.Profile{Types: []profile.ValueType{{}}}
	foldedProfile, _, err := ReadFolded(strings.NewReader("a;b 1 2\na 3 4\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		p    *profile.Profile
	}{{"recording", sampled()}, {"another time zone", zone}, {"odd names and numbers", full},
		{"no order of time", noRuns}, {"nothing", empty}, {"folded difference", foldedProfile}} {
		t.Run(tt.name, func(t *testing.T) {
			text := asJSON(t, tt.p)
			checkSchema(t, profileSchema, text)
			back, err := ReadJSON(iotest.OneByteReader(bytes.NewReader(text)))
			if err != nil {
				t.Fatal(err)
			}
			if again := asJSON(t, back); !bytes.Equal(again, text) {
				t.Errorf("written again: got\n%s\nwant\n%s", again, text)
			}
			if !back.Start.Equal(tt.p.Start) {
				t.Errorf("start %v, want %v", back.Start, tt.p.Start)
			}
			for _, field := range []struct{ got, want any }{
				{back.Types, tt.p.Types}, {back.Default, tt.p.Default}, {back.Period, tt.p.Period},
				{back.PeriodType, tt.p.PeriodType}, {back.Duration, tt.p.Duration},
				{back.Command, tt.p.Command}, {back.Comments, tt.p.Comments}, {back.Modules, tt.p.Modules},
				{back.Frames, tt.p.Frames},
				{back.Tasks, tt.p.Tasks}, {back.Runs, tt.p.Runs},
			} {
				if !reflect.DeepEqual(field.got, field.want) {
					t.Errorf("got %+v, want %+v", field.got, field.want)
				}
			}
			if len(tt.p.Samples) > 0 && (!reflect.DeepEqual(back.Samples, tt.p.Samples) ||
				!reflect.DeepEqual(back.Values, tt.p.Values)) {
				t.Errorf("samples %v %v, want %v %v", back.Samples, back.Values, tt.p.Samples, tt.p.Values)
			}
			for n := profile.NodeID(1); int(n) < tt.p.Tree.Len(); n++ {
				if back.Tree.Parent(n) != tt.p.Tree.Parent(n) || back.Tree.Frame(n) != tt.p.Tree.Frame(n) {
					t.Errorf("stack %d differs", n)
				}
			}
		})
	}
}

func TestJSONGolden(t *testing.T) { checkGolden(t, "profile.json.golden", asJSON(t, sampled())) }

// A document that breaks the contract must be refused by reader and schema.
func TestReadJSONRefuses(t *testing.T) {
	good := string(asJSON(t, sampled()))
	for _, tt := range []struct {
		name, old, new string
		want           string // part of the message
		schemaToo      bool
	}{
		{"another schema", `"fpstack.profile/1"`, `"fpstack.dump/1"`, "not a fpstack.profile/1 document", true},
		{"no schema", `"schema":"fpstack.profile/1",`, ``, "not a fpstack.profile/1 document", true},
		{"address as a number", `"base":"0x55d0c0000000"`, `"base":94355789348864`, "cannot unmarshal number", true},
		{"address without 0x", `"base":"0x55d0c0000000"`, `"base":"55d0c0000000"`, "no number of the form 0x1f", true},
		{"address of 68 bits", `"base":"0x55d0c0000000"`, `"base":"0x155d0c00000000000"`, "of up to 64 bits", true},
		{"unknown kind", `"kind":"kernel"`, `"kind":"other"`, `frames": element 5: kind "other" is not known`, true},
		{"no kind", `"kind":"kernel"`, `"inlined":true`, `kind "" is not known`, true},
		{"module out of range", `"module":1`, `"module":2`, "lies in module 2 of 2", false},
		{"stack called from a later one", `"caller":[0,1,`, `"caller":[0,2,`, "stack 2 is called from 2", false},
		{"stack twice", `"caller":[0,1,2,0,4,5,0,`, `"caller":[0,1,2,0,4,5,4,`, "", false},
		{"columns of two lengths", `"caller":[0,1,`, `"caller":[0,`, "callers of", false},
		{"sample's columns", `"samples":{"stack":[3,`, `"samples":{"stack":[`, "3 stacks and 4 tasks", false},
		{"sample's stack out of range", `"samples":{"stack":[3,`, `"samples":{"stack":[99,`, "stack 99 of", false},
		{"stack of 33 bits", `"samples":{"stack":[3,`, `"samples":{"stack":[4294967296,`, "4294967296", true},
		{"negative value", `"values":[30,`, `"values":[-30,`, "value -30 is below 0", true},
		{"value missing", `"values":[30,`, `"values":[`, "values for 4 samples", false},
		{"sum of 64 bits", `"values":[30,`, `"values":[9223372036854775807,`, "more than 63 bits", false},
		{"default out of range", `"default":1`, `"default":3`, "default value 3 of 3", false},
		{"runs backward", `"at_ns":[0,`, `"at_ns":[200000000,`, "run 1 is not behind", false},
		{"run without end", `"for_ns":[100000000,`, `"for_ns":[9223372036854775807,`, "run 1 is not behind", false},
		{"columns of runs", `"at_ns":[0,`, `"at_ns":[`, "columns of runs", false},
		{"negative time", `"duration_ns":`, `"duration_ns":-`, "duration -10000000000 ns", true},
		{"a member twice", `"default":1`, `"default":1,"default":1`, `"default" comes twice`, false},
		{"a list that is none", `"command":[`, `"command":{"a":[`, "where [ is wanted", true},
		{"something behind it", "]}}\n", "]}}\n{}", "expected the end", false},
		{"cut", `"tasks"`, "\x00", "invalid character", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad := strings.Replace(good, tt.old, tt.new, 1)
			if bad == good {
				t.Fatalf("%s is not in\n%s", tt.old, good)
			}
			if tt.want != "" {
				p, err := ReadJSON(strings.NewReader(bad))
				if err == nil || !strings.Contains(err.Error(), tt.want) ||
					!strings.HasPrefix(err.Error(), "read JSON: ") {
					t.Errorf("got %v, %v, want %q", p, err, tt.want)
				}
			}
			if doc, err := jsonschema.UnmarshalJSON(strings.NewReader(bad)); err == nil && tt.schemaToo {
				schema, err := jsonschema.NewCompiler().Compile(profileSchema)
				if err != nil {
					t.Fatal(err)
				}
				if schema.Validate(doc) == nil {
					t.Error("the schema takes it")
				}
			}
		})
	}
	for n := range len(good) - 2 {
		if p, err := ReadJSON(strings.NewReader(good[:n])); err == nil {
			t.Fatalf("cut at %d: got %v", n, p)
		}
	}
	if p, err := ReadJSON(iotest.ErrReader(errors.New("disk on fire"))); err == nil ||
		!strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("a reader that fails: got %v, %v", p, err)
	}
}

// A later version may say more.
func TestReadJSONLeavesOutWhatItDoesNotKnow(t *testing.T) {
	text := strings.Replace(string(asJSON(t, sampled())), `"default":1`, `"later":{"a":[1,{"b":null}]},"default":1`, 1)
	p, err := ReadJSON(strings.NewReader(text))
	if err != nil || p.Default != 1 {
		t.Errorf("got %v, %v", p, err)
	}
}

func TestReadJSONBounds(t *testing.T) {
	head := `{"schema":"fpstack.profile/1",`
	for _, tt := range []struct{ name, in, want string }{
		{"comments", head + `"comments":["` + strings.Repeat(`","`, maxJSONLines) + `"]}`, "more than 65536 elements"},
		{"types", head + `"types":[{}` + strings.Repeat(`,{}`, 64) + `]}`, "more than 64 elements"},
		{"nested", head + `"x":` + strings.Repeat("[", 100_000), "exceeded max depth"},
	} {
		p, err := ReadJSON(strings.NewReader(tt.in))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, %v, want %q", tt.name, p, err, tt.want)
		}
	}
}

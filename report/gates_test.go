package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fpstack/fpstack/doctor"
)

func examination() *Examination {
	return &Examination{PID: 4121, Comm: "a\x1b[31mb", Place: doctor.Container, Trial: true,
		Tried: "open memory of process 4121: permission denied",
		Gates: []doctor.Gate{
			{Name: "process", State: doctor.Open, Says: "process 4121 is there"},
			{Name: "uid", State: doctor.Closed, Says: "the process has uid 33 and we have uid 1000",
				Remedy: "Run with sudo."},
			{Name: "Yama", State: doctor.Absent, Says: "the kernel has no Yama"},
		}}
}

func gateCases() map[string]*Examination {
	open := examination()
	open.Tried, open.Gates[1] = "",
		doctor.Gate{Name: "uid", State: doctor.Open, Says: "the process has uid 1000 and we have uid 1000"}
	return map[string]*Examination{"doctor-refused": examination(), "doctor-open": open,
		"doctor-general": {Gates: open.Gates[2:]}}
}

func TestGatesGoldens(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../docs/schema/fpstack.doctor.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range gateCases() {
		var text, doc bytes.Buffer
		if err := GatesText(&text, e, true, nil, 0); err != nil {
			t.Fatal(err)
		}
		compare(t, name+".txt", text.Bytes())
		var short bytes.Buffer
		if err := GatesText(&short, e, false, nil, 0); err != nil {
			t.Fatal(err)
		}
		verdict, _, _ := strings.Cut(text.String(), "\n")
		if want := verdict + "\n"; e.Passes() && short.String() != want ||
			!e.Passes() && short.String() != text.String() {
			t.Errorf("%s without -v: %q", name, short.String())
		}
		if err := GatesJSON(&doc, e); err != nil {
			t.Fatal(err)
		}
		compare(t, name+".json", doc.Bytes())
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc.Bytes()))
		if err == nil {
			err = schema.Validate(parsed)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !json.Valid(doc.Bytes()) || strings.Contains(text.String(), "\x1b") {
			t.Errorf("%s: bad JSON or a control character in the text", name)
		}
	}
}

// What the kernel said counts, whatever the gates say.
func TestPassesBelievesTheKernel(t *testing.T) {
	e := examination()
	e.Tried = ""
	if !e.Passes() {
		t.Error("the kernel let us, and Passes says no")
	}
	e.Trial = false
	if e.Passes() {
		t.Error("a gate is closed, nobody tried, and Passes says yes")
	}
}

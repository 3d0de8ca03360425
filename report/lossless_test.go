package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/hang"
)

// TestHangJSONOfAnyBytes: what a target chooses comes out without loss, and what JSON has no form for is left out.
func TestHangJSONOfAnyBytes(t *testing.T) {
	started := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	c := &hang.Case{Processes: []hang.Process{{Name: "a\xff\\", Started: started, Start: 7,
		LockedFiles: []hang.LockedFile{{Path: "\xfe"}}}}}
	var b bytes.Buffer
	if err := HangJSON(&b, c, &hang.Verdict{}, Options{Compact: true}); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b.Bytes()) || c.Processes[0].Name != "a\xff\\" || c.Processes[0].Started != started {
		t.Errorf("%s of %+v", &b, c.Processes[0])
	}
	for _, want := range []string{`"name":"a\\xff\\\\"`, `"path":"\\xfe"`, `"args":[]`, `"because":[]`, `"threads":[]`,
		`"commands":[]`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in %s", want, &b)
		}
	}
	for _, never := range []string{"null", "started", "10000", `"Start"`} {
		if strings.Contains(b.String(), never) {
			t.Errorf("%s in %s", never, &b)
		}
	}
}

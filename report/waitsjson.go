package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/fpstack/fpstack/jsondoc"
	"github.com/fpstack/fpstack/profile"
)

// WaitsSchema is the value of "schema" in the document that WaitsJSON writes, described in
// docs/schema/fpstack.waits.1.schema.json.
const WaitsSchema = "fpstack.waits/1"

type waitsFile struct {
	Schema    string             `json:"schema"`
	Time      *time.Time         `json:"time,omitempty"`
	Processes []processIDDoc     `json:"processes"`
	Threads   []waitingThreadDoc `json:"threads"`
	waitsDoc
	Problems []string `json:"problems"`
}

type processIDDoc struct {
	PID  int    `json:"pid"`
	Comm string `json:"comm,omitempty"`
}

type waitingThreadDoc struct {
	PID   int           `json:"pid"`
	TID   int           `json:"tid"`
	Name  string        `json:"name,omitempty"`
	State string        `json:"state,omitempty"`
	Wait  *profile.Wait `json:"wait,omitempty"`
}

type waitsDoc struct {
	Cycles  []profile.WaitCycle `json:"cycles"`
	Roots   []profile.WaitRoot  `json:"roots"`
	Waiting int                 `json:"waiting"`
	Owned   int                 `json:"owned"`
}

// WaitsJSON writes w as one indented document that ends in a newline. Strings are as JSON has them; opt changes
// nothing.
func WaitsJSON(to io.Writer, w *profile.Waits, _ Options) error {
	doc := waitsFileDocument(w)
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(doc)
	if err == nil {
		_, err = to.Write(jsondoc.Printable(text.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("write JSON of waits: %w", err)
	}
	return nil
}

func waitsFileDocument(w *profile.Waits) *waitsFile {
	doc := &waitsFile{Schema: WaitsSchema, Time: jsonTime(w.Time), Processes: []processIDDoc{},
		Threads: []waitingThreadDoc{}, waitsDoc: *waitsDocument(w), Problems: losslessAll(w.Problems)}
	for i := range w.Processes {
		doc.Processes = append(doc.Processes, processIDDoc{w.Processes[i].PID, profile.Lossless(w.Processes[i].Comm)})
	}
	for i := range w.Threads {
		t := &w.Threads[i]
		doc.Threads = append(doc.Threads, waitingThreadDoc{t.PID, t.TID, profile.Lossless(t.Name),
			profile.Lossless(t.State), waitDocument(t.Wait)})
	}
	return doc
}

// waitsDocument is what concerns several threads.
func waitsDocument(w *profile.Waits) *waitsDoc {
	return lossless(&waitsDoc{w.Cycles, w.Roots, w.Waiting, w.Owned})
}

// waitDocument is nil for nil.
func waitDocument(w *profile.Wait) *profile.Wait {
	if w == nil {
		return nil
	}
	return lossless(w)
}

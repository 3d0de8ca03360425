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
	PID   int      `json:"pid"`
	TID   int      `json:"tid"`
	Name  string   `json:"name,omitempty"`
	State string   `json:"state,omitempty"`
	Wait  *waitDoc `json:"wait,omitempty"`
}

type waitDoc struct {
	Text      string     `json:"text"`
	Brief     string     `json:"brief,omitempty"`
	Sort      string     `json:"sort,omitempty"`
	Kind      string     `json:"kind"`
	Name      string     `json:"name,omitempty"`
	Address   string     `json:"address,omitempty"`
	With      string     `json:"with_mutex,omitempty"`
	Mode      string     `json:"mode"`
	Wakers    []wakerDoc `json:"wakers"`
	Certainty string     `json:"certainty,omitempty"`
	Timed     bool       `json:"timed,omitempty"`
	Left      int64      `json:"left_ns,omitempty"`
	Length    int64      `json:"length_ns,omitempty"`
	Lost      int        `json:"lost_owner,omitempty"`
	Forked    bool       `json:"forked,omitempty"`
	Listens   bool       `json:"listens,omitempty"`
	Peer      string     `json:"peer,omitempty"`
	Made      bool       `json:"made,omitempty"`
	Children  []int      `json:"children,omitempty"`
	Handled   uint64     `json:"handled_signals,omitempty"`
	Alarm     bool       `json:"alarm,omitempty"`
	Set       []partDoc  `json:"set,omitempty"`
	Evidence  []string   `json:"evidence"`
}

type partDoc struct {
	FD      int        `json:"fd"`
	Sort    string     `json:"sort"`
	Name    string     `json:"name,omitempty"`
	Peer    string     `json:"peer,omitempty"`
	Listens bool       `json:"listens,omitempty"`
	Own     bool       `json:"own,omitempty"`
	Made    bool       `json:"made,omitempty"`
	Wakers  []wakerDoc `json:"wakers"`
}

type wakerDoc struct {
	PID int `json:"pid,omitempty"`
	TID int `json:"tid,omitempty"`
}

type waitsDoc struct {
	Cycles  []cycleDoc `json:"cycles"`
	Roots   []rootDoc  `json:"roots"`
	Waiting int        `json:"waiting"`
	Owned   int        `json:"owned"`
}

type cycleDoc struct {
	Kind    string   `json:"kind"`
	Text    string   `json:"text"`
	Threads []int    `json:"threads"`
	Lines   []string `json:"lines"`
	Stood   int64    `json:"stood_ns,omitempty"`
	Behind  []int    `json:"behind"`
}

type rootDoc struct {
	wakerDoc
	Text      string `json:"text"`
	Behind    []int  `json:"behind"`
	Certainty string `json:"certainty"`
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
	doc := &waitsDoc{Cycles: []cycleDoc{}, Roots: []rootDoc{}, Waiting: w.Waiting, Owned: w.Owned}
	for i := range w.Cycles {
		c := &w.Cycles[i]
		doc.Cycles = append(doc.Cycles, cycleDoc{profile.Lossless(string(c.Kind)), profile.Lossless(c.Text),
			list(c.Threads),
			losslessAll(c.Lines), c.Stood.Nanoseconds(), list(c.Behind)})
	}
	for i := range w.Roots {
		r := &w.Roots[i]
		doc.Roots = append(doc.Roots, rootDoc{wakerDoc(r.Waker), profile.Lossless(r.Text), list(r.Behind),
			profile.Lossless(r.Certainty)})
	}
	return doc
}

// waitDocument is nil for nil.
func waitDocument(w *profile.Wait) *waitDoc {
	if w == nil {
		return nil
	}
	doc := &waitDoc{Text: profile.Lossless(w.Text), Brief: profile.Lossless(w.Brief),
		Kind: profile.Lossless(w.Kind), Name: profile.Lossless(w.Name),
		Mode: profile.Lossless(string(w.Mode)), Sort: profile.Lossless(string(w.Sort)),
		Peer: profile.Lossless(w.Peer), Wakers: []wakerDoc{}, Certainty: profile.Lossless(w.Certainty),
		Timed: w.Timed,
		Left:  w.Left.Nanoseconds(), Length: w.Length.Nanoseconds(), Lost: w.Lost, Forked: w.Forked,
		Listens: w.Listens, Made: w.Made,
		Children: w.Children, Handled: w.Handled, Alarm: w.Alarm,
		Evidence: losslessAll(w.Evidence)}
	if w.Addr != 0 {
		doc.Address = jsondoc.Hex(w.Addr)
	}
	if w.With != 0 {
		doc.With = jsondoc.Hex(w.With)
	}
	doc.Wakers = wakerDocs(w.Wakers)
	for _, p := range w.Set {
		doc.Set = append(doc.Set, partDoc{p.FD, profile.Lossless(string(p.Sort)), profile.Lossless(p.Name),
			profile.Lossless(p.Peer), p.Listens, p.Own, p.Made, wakerDocs(p.Wakers)})
	}
	return doc
}

// wakerDocs is never nil.
func wakerDocs(all []profile.Waker) []wakerDoc {
	docs := []wakerDoc{}
	for _, to := range all {
		docs = append(docs, wakerDoc(to))
	}
	return docs
}

// list is never nil.
func list(ids []int) []int { return append([]int{}, ids...) }

package push

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/push/otlp"
	"github.com/fpstack/fpstack/push/parca"
	"github.com/fpstack/fpstack/push/pyroscope"
)

// Recorded is what one process did in one interval.
type Recorded struct {
	// Attributes say which process it was, in the words of OpenTelemetry, service.name at least, and what the user
	// added. Other stores get them under the names that [LabelName] gives.
	Attributes []otlp.Attribute
	// Of is its profile, without ids of threads and processes: a store makes a series of each. It is not changed.
	Of *pprof.Profile
	// Base gives what is added to addresses of a mapping as linked; nil: the place in the file takes that place.
	Base func(*pprof.Mapping) (uint64, bool)
	// IDs are one for each of Values; they stay when it is sent again.
	IDs [][16]byte
}

// Values are the types of Recorded.Of that are sent, those that it has.
var Values = []string{"cpu", "wall"}

// NewIDs makes ids for a Recorded.
func NewIDs() [][16]byte {
	ids := make([][16]byte, len(Values))
	for i := range ids {
		rand.Read(ids[i][:]) // never fails
	}
	return ids
}

// value is one type of a Recorded: which column of its samples, and its id.
type value struct {
	column int
	id     [16]byte
}

// values are the types of r that are sent: those that are not zero in every sample.
func (r *Recorded) values() (of []value) {
	for n, name := range Values {
		for k, t := range r.Of.SampleType {
			if t.Type == name && n < len(r.IDs) && hasValue(r.Of, k) {
				of = append(of, value{k, r.IDs[n]})
			}
		}
	}
	return of
}

func hasValue(p *pprof.Profile, k int) bool {
	for _, s := range p.Sample {
		if s.Value[k] != 0 {
			return true
		}
	}
	return false
}

// errOneStack says that a profile cannot be made smaller.
var errOneStack = errors.New("a single stack is larger than what the store takes")

// Encode makes requests for t of what was recorded in one interval, each within the limits of the store. What cannot be
// encoded is dropped.
func (t *Target) Encode(recorded []Recorded, scope otlp.Scope, now time.Time) (requests []*Request, dropped []Dropped) {
	for i := range recorded {
		whole := recorded[i]
		if err := whole.Of.CheckValid(); err != nil {
			dropped = append(dropped, Dropped{len(whole.IDs), NotEncoded, err})
			continue
		}
		for todo := []Recorded{whole}; len(todo) > 0; {
			r := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			made, err := t.encode(&r, scope)
			var large *tooLargeError
			switch {
			case errors.As(err, &large) && len(r.Of.Sample) > 1:
				todo = append(todo, r.parts()...)
				continue
			case large != nil:
				err = errOneStack
			}
			switch {
			case err != nil:
				dropped = append(dropped, Dropped{len(r.values()), NotEncoded, err})
			case made != nil:
				made.Made = now
				requests = append(requests, made)
			}
		}
	}
	return requests, dropped
}

// encode makes one request of r; nil if r has no value. It fails with a *tooLargeError where that is more than the
// store takes.
func (t *Target) encode(r *Recorded, scope otlp.Scope) (*Request, error) {
	values := r.values()
	if len(values) == 0 {
		return nil, nil
	}
	to, contentType := t.Form()
	q := &Request{Path: to, ContentType: contentType, Profiles: len(values)}
	var err error
	switch t.Kind {
	case OTLPHTTP, OTLPGRPC:
		err = q.otlp(r, values, scope)
	case Pyroscope:
		err = q.pyroscope(r, values)
	case Parca:
		err = q.parca(r, values)
	case Folder:
		err = q.file(r)
	}
	if err == nil {
		err = storeLimits[t.Kind].check(len(q.Body))
	}
	if err == nil && (t.Kind == OTLPHTTP || t.Kind == OTLPGRPC) {
		q.Body, err = compressed(q.Body)
		q.Gzip = true
	}
	if err != nil {
		return nil, err
	}
	return q, nil
}

func (q *Request) otlp(r *Recorded, values []value, scope otlp.Scope) (err error) {
	res := otlp.Resource{Attributes: cleanAttributes(r.Attributes)}
	of := withoutMadeNames(r.Of)
	for _, v := range values {
		res.Profiles = append(res.Profiles, otlp.Profile{Of: of, Type: v.column, ID: v.id})
	}
	q.Body, err = otlp.Encode([]otlp.Resource{res}, scope)
	return err
}

func (q *Request) pyroscope(r *Recorded, values []value) error {
	var series []pyroscope.Series
	for _, v := range values {
		p := only(r.Of, v.column)
		b, err := storeLimits[Pyroscope].pprof(p)
		if err != nil {
			return err
		}
		labels := r.labels("process_cpu")
		if p.SampleType[0].Type == "wall" {
			labels["__name__"] = "wall"
		}
		series = append(series, pyroscope.Series{Labels: labels, Pprof: b, ID: hex.EncodeToString(v.id[:])})
	}
	q.Body = pyroscope.Encode(series)
	return nil
}

func (q *Request) parca(r *Recorded, values []value) error {
	base := r.Base
	if base == nil {
		base = func(*pprof.Mapping) (uint64, bool) { return 0, false }
	}
	var series []parca.Series
	for _, v := range values {
		p := withoutMadeNames(only(r.Of, v.column))
		parca.Normalize(p, base)
		b, err := storeLimits[Parca].pprof(p)
		if err != nil {
			return err
		}
		series = append(series, parca.Series{Labels: r.labels("fpstack_" + p.SampleType[0].Type), Pprof: b})
	}
	q.Body = parca.Encode(series)
	return nil
}

// file makes q a file of a folder: the whole profile, with who it is of in its comments.
func (q *Request) file(r *Recorded) error {
	p := shallow(r.Of)
	for _, a := range cleanAttributes(r.Attributes) {
		p.Comments = append(p.Comments[:len(p.Comments):len(p.Comments)], a.Key+"="+a.Value)
	}
	plain, err := encoded(p)
	if err != nil {
		return err
	}
	q.Path = fileName(r)
	q.Body, err = compressed(plain)
	return err
}

// only is p with one of its values, without the samples that have none of it, and with the labels that all stores get.
func only(p *pprof.Profile, k int) *pprof.Profile {
	q := shallow(p)
	q.SampleType = []*pprof.ValueType{p.SampleType[k]}
	q.PeriodType, q.Period = q.SampleType[0], max(p.Period, 1)
	q.DefaultSampleType = ""
	q.Sample = nil
	for _, s := range p.Sample {
		if s.Value[k] != 0 {
			q.Sample = append(q.Sample, &pprof.Sample{Location: s.Location, Value: s.Value[k : k+1],
				Label: fewLabels(s.Label)})
		}
	}
	return compact(q)
}

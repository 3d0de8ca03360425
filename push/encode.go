package push

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
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

// Encode makes requests for t of what was recorded in one interval, each within the limits of the store: for a
// collector of several processes, for others of one. What cannot be encoded is dropped.
func (t *Target) Encode(recorded []Recorded, scope otlp.Scope, now time.Time) (requests []*Request, dropped []Dropped) {
	e := encoder{t: t, scope: scope, now: now}
	for i := range recorded {
		whole := recorded[i]
		if err := whole.Of.CheckValid(); err != nil {
			dropped = append(dropped, Dropped{len(whole.IDs), NotEncoded, err})
			continue
		}
		for todo := []Recorded{whole}; len(todo) > 0; {
			r := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			err := e.add(&r)
			var large *tooLargeError
			switch {
			case errors.As(err, &large) && len(r.Of.Sample) > 1:
				todo = append(todo, r.parts()...)
				continue
			case large != nil:
				err = errOneStack
			}
			if err != nil {
				dropped = append(dropped, Dropped{len(r.values()), NotEncoded, err})
			}
		}
	}
	if err := e.finish(); err != nil {
		dropped = append(dropped, Dropped{e.profiles, NotEncoded, err})
	}
	return e.requests, dropped
}

// encoder makes requests of one interval.
type encoder struct {
	t        *Target
	scope    otlp.Scope
	now      time.Time
	requests []*Request

	// What is in no request yet, for a collector.
	batch    *otlp.Batch // nil if that is nothing
	profiles int
	series   []uint32
}

// A request to a collector is ended before it has more than this: what is compressed of batchBytes passes proxies that
// take a megabyte. One process alone may take more.
const (
	batchBytes  = 1 << 20
	batchSeries = 256 // fits into the head of a file
)

// add encodes r, if it has any value. It fails with a *tooLargeError where that is more than the store takes.
func (e *encoder) add(r *Recorded) (err error) {
	values := r.values()
	if len(values) == 0 {
		return nil
	}
	to := e.t.store()
	if to.collector {
		return e.addOTLP(r, values)
	}
	q := &Request{Path: to.path, ContentType: to.contentType, Profiles: len(values), Series: []uint32{r.series()},
		Made: e.now}
	err = to.encode(q, r, values, to.limit)
	if err == nil {
		err = to.limit.check(len(q.Body))
	}
	if err == nil {
		e.requests = append(e.requests, q)
	}
	return err
}

// addOTLP adds r to the batch, or to a new one where it makes that too large.
func (e *encoder) addOTLP(r *Recorded, values []value) error {
	res := otlp.Resource{Attributes: cleanAttributes(r.Attributes)}
	of := withoutMadeNames(r.Of)
	for _, v := range values {
		res.Profiles = append(res.Profiles, otlp.Profile{Of: of, Type: v.column, ID: v.id})
	}
	if e.batch == nil {
		e.batch = otlp.NewBatch(e.scope)
	}
	err := e.batch.Add(&res)
	alone := e.profiles == 0
	if err == nil && !alone && (e.batch.Size() > batchBytes || len(e.series) >= batchSeries) {
		e.batch.Undo()
		if err := e.finish(); err != nil {
			return err
		}
		return e.addOTLP(r, values)
	}
	if err == nil {
		err = e.t.store().limit.check(e.batch.Size() + otlpHead)
	}
	if err != nil {
		e.batch.Undo()
		return err
	}
	e.profiles += len(values)
	e.series = append(e.series, r.series())
	return nil
}

// otlpHead is what the length of the dictionary takes at most: a key and a number.
const otlpHead = 6

// finish ends the batch.
func (e *encoder) finish() error {
	if e.profiles == 0 {
		return nil
	}
	body, err := compressed(e.batch.Bytes())
	if err != nil {
		return err
	}
	to, contentType := e.t.Form()
	e.requests = append(e.requests, &Request{Path: to, ContentType: contentType, Gzip: true, Body: body,
		Profiles: e.profiles, Series: e.series, Made: e.now})
	e.batch, e.profiles, e.series = nil, 0, nil
	return nil
}

// series is a hash of who r is of.
func (r *Recorded) series() uint32 {
	h := fnv.New32a()
	for _, a := range r.Attributes {
		fmt.Fprintf(h, "%s\x00%s\x00", a.Key, a.Value)
	}
	return h.Sum32()
}

func (q *Request) pyroscope(r *Recorded, values []value, limit storeLimit) error {
	var series []pyroscope.Series
	for _, v := range values {
		p := only(r.Of, v.column)
		b, err := limit.pprof(p)
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

func (q *Request) parca(r *Recorded, values []value, limit storeLimit) error {
	base := r.Base
	if base == nil {
		base = func(*pprof.Mapping) (uint64, bool) { return 0, false }
	}
	var series []parca.Series
	for _, v := range values {
		p := withoutMadeNames(only(r.Of, v.column))
		parca.Normalize(p, base)
		b, err := limit.pprof(p)
		if err != nil {
			return err
		}
		series = append(series, parca.Series{Labels: r.labels("fpstack_" + p.SampleType[0].Type), Pprof: b})
	}
	q.Body = parca.Encode(series)
	return nil
}

// file makes q a file of a folder: the whole profile, with who it is of in its comments.
func (q *Request) file(r *Recorded, _ []value, _ storeLimit) error {
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

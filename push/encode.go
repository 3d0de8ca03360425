package push

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"maps"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/push/otlp"
	"github.com/fpstack/fpstack/push/parca"
	"github.com/fpstack/fpstack/push/pyroscope"
)

// Recorded is what one process did in one interval.
type Recorded struct {
	// Attributes say which process it was, in the words of OpenTelemetry: service.name at least. Other stores get
	// those whose names Labels has.
	Attributes []otlp.Attribute
	// Of is its profile, without ids of threads and processes: a store makes a series of each. It is not changed.
	Of *pprof.Profile
	// Base gives what is added to addresses of a mapping as linked; nil: the place in the file takes that place.
	Base func(*pprof.Mapping) (uint64, bool)
	// IDs are one for each value that is sent, in the order of Values; they stay when it is sent again.
	IDs [][16]byte
}

// Values are the types of Recorded.Of that are sent, those that it has.
var Values = []string{"cpu", "wall"}

// Labels are the names that Pyroscope and Parca have for attributes.
var Labels = map[string]string{"service.name": "service_name", "process.executable.name": "process",
	"host.name": "host", "container.id": "container_id", "k8s.pod.uid": "pod_uid", "k8s.node.name": "node"}

// Encode makes requests for t of what was recorded in one interval. What cannot be encoded is dropped.
func (t *Target) Encode(recorded []Recorded, scope otlp.Scope, now time.Time) (requests []*Request, dropped []Dropped) {
	for i := range recorded {
		r := &recorded[i]
		var made *Request
		var err error
		switch t.Kind {
		case OTLPHTTP, OTLPGRPC:
			made, err = t.otlp(r, scope)
		case Pyroscope:
			made, err = asPyroscope(r)
		case Parca:
			made, err = asParca(r)
		}
		switch {
		case err != nil:
			dropped = append(dropped, Dropped{len(r.values()), NotEncoded, err})
		case made != nil:
			made.Made = now
			requests = append(requests, made)
		}
	}
	return requests, dropped
}

// values are the indexes of the types of r that are sent.
func (r *Recorded) values() (at []int) {
	for _, name := range Values {
		for i, t := range r.Of.SampleType {
			if t.Type == name && len(at) < len(r.IDs) {
				at = append(at, i)
			}
		}
	}
	return at
}

func (t *Target) otlp(r *Recorded, scope otlp.Scope) (*Request, error) {
	res := otlp.Resource{Attributes: r.Attributes}
	for i, k := range r.values() {
		res.Profiles = append(res.Profiles, otlp.Profile{Of: r.Of, Type: k, ID: r.IDs[i]})
	}
	body, err := otlp.Encode([]otlp.Resource{res}, scope)
	if err != nil {
		return nil, err
	}
	q := &Request{Path: otlp.Path, ContentType: "application/x-protobuf", Body: body, Profiles: len(res.Profiles)}
	if t.Kind == OTLPGRPC {
		q.Path, q.ContentType = otlp.Method, "application/grpc+proto"
	}
	return q.compress()
}

// compress compresses the body.
func (r *Request) compress() (*Request, error) {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if _, err := zip.Write(r.Body); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	r.Body, r.Gzip = b.Bytes(), true
	return r, nil
}

// labels are those of r in the words of Prometheus, with the name of what is recorded.
func (r *Recorded) labels(name string) map[string]string {
	labels := map[string]string{"__name__": name}
	for _, a := range r.Attributes {
		if l, ok := Labels[a.Key]; ok {
			labels[l] = a.Value
		}
	}
	return labels
}

// only is p with one of its values, and with the labels of samples that are few: names of threads.
func only(p *pprof.Profile, k int) *pprof.Profile {
	q := p.Copy()
	q.SampleType = q.SampleType[k : k+1]
	q.PeriodType = q.SampleType[0]
	q.DefaultSampleType = ""
	kept := q.Sample[:0]
	for _, s := range q.Sample {
		if s.Value = s.Value[k : k+1]; s.Value[0] != 0 {
			maps.DeleteFunc(s.Label, func(name string, _ []string) bool { return otlp.Labels[name] == "" })
			kept = append(kept, s)
		}
	}
	q.Sample = kept
	return q
}

func asPyroscope(r *Recorded) (*Request, error) {
	var series []pyroscope.Series
	for i, k := range r.values() {
		p := only(r.Of, k)
		if len(p.Sample) == 0 {
			continue
		}
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			return nil, err
		}
		labels := r.labels("process_cpu")
		if p.SampleType[0].Type == "wall" {
			labels["__name__"] = "wall"
		}
		id := hex.EncodeToString(r.IDs[i][:])
		series = append(series, pyroscope.Series{Labels: labels, Pprof: b.Bytes(), ID: id})
	}
	if series == nil {
		return nil, nil
	}
	return &Request{Path: pyroscope.Path, ContentType: "application/proto", Body: pyroscope.Encode(series),
		Profiles: len(series)}, nil
}

func asParca(r *Recorded) (*Request, error) {
	var series []parca.Series
	for _, k := range r.values() {
		p := only(r.Of, k)
		if len(p.Sample) == 0 {
			continue
		}
		base := r.Base
		if base == nil {
			base = func(*pprof.Mapping) (uint64, bool) { return 0, false }
		}
		parca.Normalize(p, base)
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			return nil, err
		}
		series = append(series, parca.Series{Labels: r.labels("fpstack_" + p.SampleType[0].Type), Pprof: b.Bytes()})
	}
	if series == nil {
		return nil, nil
	}
	return &Request{Path: parca.Method, ContentType: "application/grpc+proto", Body: parca.Encode(series),
		Profiles: len(series)}, nil
}

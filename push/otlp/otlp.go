// Package otlp encodes profiles as OpenTelemetry's profiles signal has them: one ExportProfilesServiceRequest, which
// is the body of a push by HTTP and, behind five bytes, of one by gRPC.
//
// The form is that of opentelemetry-proto 1.10 and later, package v1development: 1.10 gave the fields of Sample other
// numbers, and nothing in the bytes says which are meant. It takes profiles in the form of pprof, whose locations,
// inlined functions and mappings are the same things.
//
// Source: opentelemetry/proto/profiles/v1development/profiles.proto and collector/profiles/v1development.
package otlp

import (
	"fmt"
	"strconv"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/push/wire"
)

// Path is where a collector takes requests over HTTP.
const Path = "/v1development/profiles"

// Method is the path of the same over gRPC.
const Method = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

// Resource is one process and its profiles.
type Resource struct {
	Attributes []Attribute // service.name, process.pid and their like
	Profiles   []Profile
}

// Attribute is one fact of a resource, in the words of OpenTelemetry's semantic conventions. Its value is a string,
// or where Int is set a number.
type Attribute struct {
	Key, Value string
	Int        bool
}

// Profile is one value of a profile: the signal has a profile for each.
type Profile struct {
	// Of is not changed. Its labels become attributes of samples, under the name that Labels gives them.
	Of *pprof.Profile
	// Type is which of its values, an index of Of.SampleType.
	Type int
	// ID is the same when it is sent again. It must not be zero.
	ID [16]byte
}

// Labels are the labels of samples that become attributes, with the names that they have there. Others are left out.
var Labels = map[string]string{"thread": "thread.name"}

// Scope is who made the profiles.
type Scope struct{ Name, Version string }

// Batch is a request that is being made: resources that share the tables of one dictionary.
type Batch struct {
	scope Scope
	d     *dictionary
	body  []byte
	// What Undo goes back to.
	before int
	tables []int
}

// NewBatch makes a Batch without resources.
func NewBatch(scope Scope) *Batch { return &Batch{scope: scope, d: newDictionary()} }

// Add adds a resource. A Profile without samples is left out, as stores refuse it, and a resource that has none. It
// fails where a Profile is inconsistent; then, and where the Batch is too large now, Undo takes the resource back.
func (b *Batch) Add(r *Resource) error {
	b.before, b.tables = len(b.body), b.d.lengths()
	var profiles []byte
	for i := range r.Profiles {
		encoded, err := b.d.profile(&r.Profiles[i])
		if err != nil {
			return fmt.Errorf("encode profile %d of a process: %w", i, err)
		}
		if encoded != nil {
			profiles = wire.Element(profiles, 2, encoded)
		}
	}
	if profiles == nil {
		return nil
	}
	var who []byte
	for _, a := range r.Attributes {
		who = wire.Element(who, 1, a.keyValue())
	}
	made := wire.String(wire.String(nil, 1, b.scope.Name), 2, b.scope.Version)
	scoped := append(wire.Element(nil, 1, made), profiles...)
	b.body = wire.Element(b.body, 1, wire.Element(wire.Element(nil, 1, who), 2, scoped))
	return nil
}

// Undo takes back the last Add.
func (b *Batch) Undo() {
	b.body = b.body[:b.before]
	b.d.cut(b.tables)
}

// Size is how many bytes Bytes has, or some less: those that say how long the dictionary is.
func (b *Batch) Size() int { return len(b.body) + b.d.size() }

// Bytes encodes an ExportProfilesServiceRequest.
func (b *Batch) Bytes() []byte { return wire.Element(b.body, 2, b.d.encode()) }

// Halves parts an encoded request of several resources in two, each with the whole dictionary, the first with one more
// where they are odd, and says how many profiles are in each. ok is false where it cannot be parted.
func Halves(request []byte) (halves [2][]byte, profiles [2]int, ok bool) {
	var resources [][]byte
	var dictionary []byte
	for len(request) > 0 {
		f, rest, err := wire.Next(request)
		if err != nil {
			return halves, profiles, false
		}
		if f.ID == 1 {
			resources = append(resources, f.Bytes)
		} else if f.ID == 2 {
			dictionary = f.Bytes
		}
		request = rest
	}
	for i, r := range resources {
		half := 2 * i / len(resources)
		halves[half] = wire.Element(halves[half], 1, r)
		profiles[half] += countProfiles(r)
	}
	for i := range halves {
		halves[i] = wire.Element(halves[i], 2, dictionary)
	}
	return halves, profiles, len(resources) > 1
}

// countProfiles counts those of a ResourceProfiles: scope_profiles=2{profiles=2}.
func countProfiles(resource []byte) (n int) {
	for _, scope := range wire.All(resource, 2) {
		n += len(wire.All(scope, 2))
	}
	return n
}

// keyValue encodes a as opentelemetry.proto.common.v1.KeyValue.
func (a Attribute) keyValue() []byte {
	return wire.Element(wire.String(nil, 1, a.Key), 2, a.anyValue())
}

// anyValue encodes a's value as AnyValue: a oneof, whose member is there even if it is zero.
func (a Attribute) anyValue() []byte {
	if !a.Int {
		return wire.Element(nil, 1, a.Value)
	}
	n, _ := strconv.ParseInt(a.Value, 10, 64)
	if n == 0 {
		return []byte{3 << 3, 0}
	}
	return wire.Int(nil, 3, n)
}

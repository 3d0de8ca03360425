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

// Number makes an Attribute of an integer.
func Number(key string, v int) Attribute {
	return Attribute{Key: key, Value: strconv.Itoa(v), Int: true}
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

// Encode encodes resources as one request. A Profile without samples is left out, as stores refuse it, and a resource
// that has none. It fails where a Profile is inconsistent.
func Encode(resources []Resource, scope Scope) ([]byte, error) {
	d := newDictionary()
	var body []byte
	for i := range resources {
		r := &resources[i]
		var profiles []byte
		for k := range r.Profiles {
			encoded, err := d.profile(&r.Profiles[k])
			if err != nil {
				return nil, fmt.Errorf("encode profile %d of process %d: %w", k, i, err)
			}
			if encoded != nil {
				profiles = wire.Element(profiles, 2, encoded)
			}
		}
		if profiles == nil {
			continue
		}
		var who []byte
		for _, a := range r.Attributes {
			who = wire.Element(who, 1, a.keyValue())
		}
		made := wire.String(wire.String(nil, 1, scope.Name), 2, scope.Version)
		scoped := append(wire.Element(nil, 1, made), profiles...)
		body = wire.Element(body, 1, wire.Element(wire.Element(nil, 1, who), 2, scoped))
	}
	return wire.Element(body, 2, d.encode()), nil
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

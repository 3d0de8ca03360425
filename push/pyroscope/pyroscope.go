// Package pyroscope encodes profiles as Pyroscope's PusherService takes them.
//
// Source: push/v1/push.proto of github.com/grafana/pyroscope/api.
package pyroscope

import "github.com/fpstack/fpstack/push/wire"

// Path is where the service takes a PushRequest, by HTTP with the Content-Type "application/proto" or by gRPC.
const Path = "/push.v1.PusherService/Push"

// Series is one profile with its labels.
type Series struct {
	// Labels have at least __name__ and service_name. They are sent in the order of their names.
	Labels map[string]string
	// Pprof is profile.proto, compressed by gzip. Each label of its samples becomes a series of the store.
	Pprof []byte
	// ID is the same when it is sent again.
	ID string
}

// Encode encodes a PushRequest.
func Encode(series []Series) (b []byte) {
	for i := range series {
		s := &series[i]
		sample := wire.String(wire.String(nil, 1, s.Pprof), 2, s.ID)
		b = wire.Element(b, 1, wire.Element(wire.Pairs(nil, 1, s.Labels), 2, sample))
	}
	return b
}

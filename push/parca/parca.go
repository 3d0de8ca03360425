// Package parca encodes profiles as Parca's ProfileStoreService takes them.
//
// Source: parca/profilestore/v1alpha1/profilestore.proto of github.com/parca-dev/parca.
package parca

import (
	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/push/wire"
)

// Method is the path of the service over gRPC.
const Method = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"

// Series is one profile with its labels.
type Series struct {
	Labels map[string]string // __name__ and others, sent in the order of their names
	Pprof  []byte            // profile.proto, compressed by gzip, after [Normalize]
}

// Encode encodes a WriteRawRequest, which says that addresses are normalized.
func Encode(series []Series) (b []byte) {
	for i := range series {
		s := &series[i]
		set := wire.Element(nil, 1, wire.Pairs(nil, 1, s.Labels)) // LabelSet
		b = wire.Element(b, 2, wire.Element(set, 2, wire.String(nil, 1, s.Pprof)))
	}
	return wire.Uint(b, 3, 1)
}

// Normalize makes addresses of p independent of where its modules were loaded: as linked is what a store can compare
// between processes. base gives for a mapping what is added to an address as linked; where it does not know, the
// place in the file takes its place.
//
// Parca does that by itself for what is not normalized, but takes the first process of a build id for all of them.
func Normalize(p *pprof.Profile, base func(*pprof.Mapping) (uint64, bool)) {
	for _, l := range p.Location {
		if m := l.Mapping; m != nil && m.BuildID != "" {
			by, ok := base(m)
			if !ok {
				by = m.Start - m.Offset
			}
			l.Address -= by
		}
	}
	for _, m := range p.Mapping {
		if m.BuildID != "" {
			m.Start, m.Limit, m.Offset = 0, 0, 0
		}
	}
}

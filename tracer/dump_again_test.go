//go:build linux

package tracer

import (
	"bytes"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/maps"
)

func TestMappingsAroundTheStop(t *testing.T) {
	const (
		program = "00400000-00500000 r-xp 00000000 fe:00 1 /bin/program\n"
		libA    = "7f0000000000-7f0000002000 r-xp 00000000 fe:00 2 /lib/a.so\n"
		libB    = "7f0000000000-7f0000002000 r-xp 00000000 fe:00 3 /lib/b.so\n"
		heap    = "7f1000000000-7f1000002000 rw-p 00000000 00:00 0 \n"
	)
	lib := maps.Spans{{Start: 0x7f0000000000, End: 0x7f0000002000}}
	for _, tc := range []struct {
		name                string
		first, before, last string
		want                string
		changed             maps.Spans
	}{
		{"nothing happens", program + libA, program + libA, program + libA, program + libA, nil},
		{"data is mapped", program + libA, program + libA, program + libA + heap, program + libA + heap, nil},
		{"another library during the stop", program + libA, program + libA, program + libB, program + libB, lib},
		{"another library before the stop", program + libA, program + libB, program + libB, program + libB, lib},
		{"there and back", program + libA, program + libB, program + libA, program + libA, lib},
		{"unmapped", program + libA, program + libA, program, program, lib},
		{"not known behind the stop", program + libA, program + libB, "", program + libB, lib},
		{"not known before it", program + libA, "", program + libB, program + libB, lib},
		{"not known at all", program + libA, "", "", program + libA, nil},
		{"text that is none", program + libA, program + libA, "?\n", program + libA, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table, err := maps.Parse(bytes.NewReader([]byte(tc.first)))
			if err != nil {
				t.Fatal(err)
			}
			s := &stop{p: &Process{}, table: table, first: []byte(tc.first), text: []byte(tc.before),
				again: []byte(tc.last)}
			got, changed := s.tables()
			want, err := maps.Parse(bytes.NewReader([]byte(tc.want)))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.All(), want.All()) {
				t.Errorf("got  %+v\nwant %+v", got.All(), want.All())
			}
			if !slices.Equal(changed, tc.changed) {
				t.Errorf("got %#x as changed, want %#x", changed, tc.changed)
			}
		})
	}
}

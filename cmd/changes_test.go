package cmd

import (
	"bytes"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

func TestWriteChanges(t *testing.T) {
	made := func(typ profile.ValueType, same, grown, gone int64) *profile.Profile {
		b := profile.NewBuilder(typ)
		b.Profile().Modules = []profile.Module{{Path: "/usr/bin/x"}}
		for _, f := range []struct {
			name string
			v    int64
		}{{"same", same}, {"grown\x1b[m", grown}, {"gone", gone}} {
			if f.v > 0 {
				b.Add(b.Child(0, b.Frame(profile.Frame{Func: f.name, Module: 0})), -1, f.v)
			}
		}
		return b.Profile()
	}
	bytesType := profile.ValueType{Type: "space", Unit: "bytes"}
	for _, tt := range []struct {
		name         string
		newer, older *profile.Profile
		want         string
	}{
		// 600 and 400 of 1,000; 190, 100 and 210 of 500 doubled. Errors: √(600+2·200), √(400 + 2·380), √(2·420).
		{"samples", made(profile.SamplesCount, 400, 600, 0), made(profile.SamplesCount, 190, 100, 210), "" +
			"    self            change  function (points of samples)\n" +
			"    0.0%   -42.00 ±   2.90  gone  [x]\n" +
			"   60.0%   +40.00 ±   3.16  grown\\x1b[m  [x]\n" +
			"  of 3 functions 1 changed by themselves within the noise of the samples (two standard errors)\n" +
			"  the older profile's values are multiplied by 2\n"},
		{"bytes", made(bytesType, 50, 50, 0), made(bytesType, 49, 51, 0), "" +
			"    self            change  function (points of space)\n" +
			"   50.0%    -1.00           grown\\x1b[m  [x]\n" +
			"   50.0%    +1.00           same  [x]\n" +
			"  how certain this is cannot be said: the profiles have no sample counts\n"},
		{"nothing", made(bytesType, 50, 50, 0), made(bytesType, 50, 50, 0), ""},
	} {
		d, err := profile.Compare(tt.newer, tt.older, profile.DiffOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if writeChanges(&got, dresser(nil), d, 10, 0); got.String() != tt.want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got.String(), tt.want)
		}
	}
}

package pyroscope

import (
	"encoding/hex"
	"testing"
)

// TestFrozen: bytes written by hand from the numbers of push.proto: series 1, of labels 1 (name 1, value 2) in the
// order of their names, and samples 2 (raw_profile 1, ID 2).
func TestFrozen(t *testing.T) {
	got := hex.EncodeToString(Encode([]Series{
		{Labels: map[string]string{"service_name": "x", "__name__": "wall"}, Pprof: []byte("PP"), ID: "0a"},
		{Labels: map[string]string{}, Pprof: []byte{0}},
	}))
	want := "0a2f" + "0a10" + "0a085f5f6e616d655f5f" + "120477616c6c" + "0a11" + "0a0c736572766963655f6e616d65" +
		"120178" + "1208" + "0a025050" + "12023061" + "0a05" + "1203" + "0a0100"
	if got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

package push

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzAnswers: whatever a store answers, its words are one short line, and it does not hold us for long.
func FuzzAnswers(f *testing.F) {
	details := base64.RawStdEncoding.EncodeToString([]byte("\x1a\x2e\x0a\x28type.googleapis.com/google.rpc.RetryInfo" +
		"\x12\x04\x0a\x02\x08\x07"))
	f.Add(200, "application/x-protobuf", "", "8", "later%20", details, "", []byte("\x0a\x04\x08\x03\x12\x00"))
	f.Add(503, "text/html", "7", "", "", "", "x", []byte("<html>"))
	f.Add(429, "application/x-protobuf", "Mon, 02 Jan 2060 15:04:05 GMT", "", "", "", "", []byte("\x12\x02no"))
	f.Add(200, "", "-1", "14", "%zz", "****", "", []byte{0, 0, 0, 0, 1, 0xff})
	f.Fuzz(func(t *testing.T, status int, kind, after, grpc, message, details, location string, body []byte) {
		h := http.Header{"Content-Type": {kind}, "Retry-After": {after}, "Location": {location}}
		trailer := http.Header{"Grpc-Status": {grpc}, "Grpc-Message": {message}, "Grpc-Status-Details-Bin": {details}}
		answer := &http.Response{StatusCode: status, Status: "200 OK", Header: h, Trailer: trailer,
			Body: io.NopCloser(bytes.NewReader(body))}
		for i := range stores {
			err := httpVerdict(answer, body, &stores[i])
			if stores[i].grpc {
				err = grpcVerdict(answer, body, &stores[i])
			}
			if err == nil {
				continue
			}
			if text := err.Error(); len(text) > maxSaid+200 || !utf8.ValidString(text) ||
				bytes.ContainsAny([]byte(text), "\n\r") {
				t.Errorf("%q", text)
			}
			switch e := err.(type) {
			case *Refusal:
				if e.After < 0 || e.After > maxAfter {
					t.Errorf("left alone for %v", e.After)
				}
			case *PartError:
				if e.Refused <= 0 {
					t.Errorf("%d refused", e.Refused)
				}
			default:
				t.Errorf("%T", err)
			}
		}
	})
}

// TestRetryInfo: when a store by gRPC says how long to wait.
func TestRetryInfo(t *testing.T) {
	head := "\x08\x08\x1a\x32\x0a\x28type.googleapis.com/google.rpc.RetryInfo\x12\x06"
	for details, want := range map[string]time.Duration{
		head + "\x0a\x04\x08\x07\x10\x05":     7*time.Second + 5,
		head + "\x0a\x04\x08\xff\xff\x7f":     maxAfter,
		"\x08\x08":                            0,
		"\x1a\x03\x0a\x01x":                   0,
		head + "\x0a\x04\xff\xff\xff\xff\xff": 0,
	} {
		if got := retryInfo(base64.StdEncoding.EncodeToString([]byte(details))); got != want {
			t.Errorf("%q: %v, want %v", details, got, want)
		}
	}
}

// FuzzSpooled: no bytes of a file make the spool panic, and what it takes for a request has the size that it says.
func FuzzSpooled(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"Format":1,"Profiles":2,"Size":1,"CRC":2636109089}` + "\nx"))
	f.Add([]byte(`{"Format":2}` + "\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		dir := root(t, t.TempDir())
		if err := dir.WriteFile("x", file, 0o600); err != nil {
			t.Fatal(err)
		}
		s := &Spool{folder: dir, limits: roomy}
		if r, size, err := s.load("x"); err == nil && (r.Profiles < 0 || size < int64(len(r.Body))) {
			t.Errorf("%+v of %d bytes", r, size)
		}
	})
}

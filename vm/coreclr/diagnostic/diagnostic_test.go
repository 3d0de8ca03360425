package diagnostic

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// talk is a connection that has the answer ready.
type talk struct {
	io.Reader
	sent bytes.Buffer
}

func (c *talk) Write(b []byte) (int, error) { return c.sent.Write(b) }

func TestCommands(t *testing.T) {
	const ok, refused = "DOTNET_IPC_V1\x00\x18\x00\xff\x00\x00\x00\x00\x00\x00\x00",
		"DOTNET_IPC_V1\x00\x18\x00\xff\xff\x00\x00"
	for _, c := range []struct {
		name, answer string
		enable       bool
		sent         string
		want         error
	}{
		{"on", ok, true, "DOTNET_IPC_V1\x00\x18\x00\x04\x05\x00\x00\x03\x00\x00\x00", nil},
		{"off", ok, false, "DOTNET_IPC_V1\x00\x14\x00\x04\x06\x00\x00", nil},
		{"an old runtime", refused + "\x85\x13\x13\x80", true, "", ErrTooOld},
		{"another server", "HTTP/1.1 400 Bad Request\r\n", true, "", ErrMalformed},
		{"nothing", "", true, "", io.EOF},
		{"cut", ok[:22], true, "", io.ErrUnexpectedEOF},
		{"a size below that of a head", "DOTNET_IPC_V1\x00\x03\x00\xff\x00\x00\x00", true, "", ErrMalformed},
	} {
		x := &talk{Reader: bytes.NewReader([]byte(c.answer))}
		ask := DisablePerfMap
		if c.enable {
			ask = EnablePerfMap
		}
		if err := ask(x); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if c.sent != "" && x.sent.String() != c.sent {
			t.Errorf("%s: %q was sent, want %q", c.name, x.sent.String(), c.sent)
		}
	}
	x := &talk{Reader: bytes.NewReader([]byte(refused + "\x01\x00\x07\x80"))}
	if err := EnablePerfMap(x); err == nil || errors.Is(err, ErrTooOld) {
		t.Errorf("refused by another error: %v", err)
	}
}

func TestIsSocket(t *testing.T) {
	for name, want := range map[string]bool{"dotnet-diagnostic-12-5074131-socket": true,
		"dotnet-diagnostic-12--socket":         true,
		"dotnet-diagnostic-123-5074131-socket": false, "dotnet-diagnostic-12-5074131-socket.old": false,
		"clr-debug-pipe-12-1-in": false} {
		if IsSocket(name, 12) != want {
			t.Errorf("%q: %t, want %t", name, !want, want)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte("DOTNET_IPC_V1\x00\x18\x00\xff\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if answer(bytes.NewReader(b)) == nil && len(b) < headSize {
			t.Fatalf("%q is an answer", b)
		}
	})
}

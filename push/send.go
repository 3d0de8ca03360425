package push

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fpstack/fpstack/push/wire"
)

// Request is what a store gets at once.
type Request struct {
	Path, ContentType string
	Gzip              bool   // Body is compressed
	Body              []byte // without the frame of gRPC
	Profiles          int    // in it
	Made              time.Time
}

// Refusal is why a store did not take a Request.
type Refusal struct {
	Why   string // for a person
	Again bool   // it may take it later
	// After is how long the store wants to be left alone, 0 if it does not say.
	After time.Duration
}

func (r *Refusal) Error() string { return r.Why }

// ErrPartly says that a store took a request, but not all that is in it.
var ErrPartly = errors.New("the store took a part of it alone")

// Sender sends requests to one store. Its methods may be called by any goroutine.
type Sender struct {
	target *Target
	client *http.Client
	header http.Header
}

// NewSender makes a Sender. header is sent with each request: a token, a tenant.
func NewSender(t *Target, client *http.Client, header http.Header) *Sender {
	return &Sender{t, client, header}
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 10

// Send sends r and returns when the store has answered. The error is a *Refusal, or ErrPartly, with what the store
// said.
func (s *Sender) Send(ctx context.Context, r *Request) error {
	body := r.Body
	if s.target.grpc() {
		body = frame(r)
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, s.target.Base.JoinPath(r.Path).String(),
		bytes.NewReader(body))
	if err != nil {
		return &Refusal{Why: err.Error()}
	}
	for name, values := range s.header {
		q.Header[name] = values
	}
	q.Header.Set("Content-Type", r.ContentType)
	switch {
	case s.target.grpc():
		q.Header.Set("TE", "trailers")
		if r.Gzip {
			q.Header.Set("Grpc-Encoding", "gzip")
		}
	case r.Gzip:
		q.Header.Set("Content-Encoding", "gzip")
	}
	if s.target.Kind == Pyroscope {
		q.Header.Set("Connect-Protocol-Version", "1")
	}
	answer, err := s.client.Do(q)
	if err != nil {
		return &Refusal{Why: err.Error(), Again: true}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return &Refusal{Why: "read the answer: " + err.Error(), Again: true}
	}
	if s.target.grpc() {
		return grpcVerdict(answer, text)
	}
	return httpVerdict(answer, text, s.target.Kind == OTLPHTTP)
}

// frame puts r into a length-prefixed message.
// Source: github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md.
func frame(r *Request) []byte {
	b := make([]byte, 5, 5+len(r.Body))
	if r.Gzip {
		b[0] = 1
	}
	binary.BigEndian.PutUint32(b[1:], uint32(len(r.Body)))
	return append(b, r.Body...)
}

// httpVerdict says what an answer by HTTP means. Only what the specification of OTLP names is sent again.
// Source: opentelemetry.io/docs/specs/otlp, "Failures".
func httpVerdict(answer *http.Response, text []byte, otlp bool) error {
	switch answer.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		if otlp {
			return partly(text)
		}
		return nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &Refusal{Why: said(answer.Status, string(text)), Again: true, After: retryAfter(answer.Header)}
	}
	return &Refusal{Why: said(answer.Status, string(text))}
}

// Codes of gRPC with which a client may try again.
// Source: opentelemetry.io/docs/specs/otlp, "Failures"; 8 only where the store says when, but Pyroscope's limit of a
// rate is 8 alone.
var grpcAgain = map[int]bool{1: true, 4: true, 8: true, 10: true, 11: true, 14: true, 15: true}

// grpcVerdict says what an answer by gRPC means. Where there is no body the trailers are in the header.
func grpcVerdict(answer *http.Response, text []byte) error {
	trailer := answer.Trailer
	if trailer.Get("Grpc-Status") == "" {
		trailer = answer.Header
	}
	code, err := strconv.Atoi(trailer.Get("Grpc-Status"))
	switch {
	case err != nil && answer.StatusCode == http.StatusOK:
		return &Refusal{Why: "the answer has no status of gRPC", Again: true}
	case err != nil:
		return httpVerdict(answer, text, false)
	case code == 0:
		if len(text) < 5 {
			return nil
		}
		return partly(text[5:])
	}
	return &Refusal{Why: said("gRPC status "+strconv.Itoa(code), trailer.Get("Grpc-Message")), Again: grpcAgain[code],
		After: retryAfter(answer.Header)}
}

// partly reads what a collector could not take from its answer: ExportProfilesServiceResponse.
func partly(message []byte) error {
	f, _, err := wire.Next(message)
	if err != nil || f.ID != 1 {
		return nil
	}
	var rejected uint64
	var why string
	for rest := f.Bytes; len(rest) > 0; {
		if f, rest, err = wire.Next(rest); err != nil {
			return nil
		}
		switch f.ID {
		case 1:
			rejected = f.Number
		case 2:
			why = string(f.Bytes)
		}
	}
	if rejected == 0 {
		return nil
	}
	return fmt.Errorf("%w: it refused %d profiles: %s", ErrPartly, rejected, said("", why))
}

// maxSaid bounds what is told of a store's words.
const maxSaid = 300

// said makes one line of a status and what a store says about it.
func said(status, text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > maxSaid {
		text = strings.ToValidUTF8(text[:maxSaid], "") + "…"
	}
	return strings.TrimSuffix(strings.TrimPrefix(status+": "+text, ": "), ": ")
}

// maxAfter bounds how long a store may keep us waiting.
const maxAfter = 10 * time.Minute

// retryAfter reads how long a store wants to be left alone: seconds, or a time.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if n, err := strconv.Atoi(value); err == nil && n > 0 {
		return min(time.Duration(min(n, int(maxAfter/time.Second)))*time.Second, maxAfter)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, min(time.Until(at), maxAfter))
	}
	return 0
}

package push

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fpstack/fpstack/push/wire"
)

// Request is what a store gets at once.
type Request struct {
	Path, ContentType string // of a Folder, Path is the begin of a file's name
	Gzip              bool   // Body is compressed
	Body              []byte // without the frame of gRPC
	Profiles          int    // in it
	// Series are the processes of the profiles, by a hash of who they are: theirs go to the store in their order.
	Series []uint32
	Made   time.Time // the same for all of one interval
}

// Refusal is why a store did not take a Request.
type Refusal struct {
	Why   string // for a person
	Again bool   // it may take it later
	// After is how long the store wants to be left alone, 0 if it does not say.
	After time.Duration
	// Most is how often it is tried in all where that is uncertain, 0: until it is too old.
	Most int
	// HTTP and GRPC are the status of the answer, 0 if there was none.
	HTTP, GRPC int
}

func (r *Refusal) Error() string { return r.Why }

// PartError says that a store took a request, but not all that is in it.
type PartError struct {
	Refused int // profiles
	Why     string
}

func (e *PartError) Error() string {
	return said(fmt.Sprintf("the store refused %d profiles of a request", e.Refused), e.Why)
}

// Sender sends requests to one store. Its methods may be called by any goroutine.
type Sender struct {
	target *Target
	client *http.Client
	header func() (http.Header, error)
}

// NewSender makes a Sender. header gives what is sent with each request: a token, a tenant. nil: nothing.
func NewSender(t *Target, client *http.Client, header func() (http.Header, error)) *Sender {
	if header == nil {
		header = func() (http.Header, error) { return nil, nil }
	}
	return &Sender{t, client, header}
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 10

// Send sends r and returns when the store has answered. The error is a *Refusal or a *PartError, with what the store
// said.
func (s *Sender) Send(ctx context.Context, r *Request) error {
	q, err := s.request(ctx, r)
	if err != nil {
		return err
	}
	proxy := proxyOf(s.client, q)
	answer, text, err := s.exchange(q)
	switch {
	case err != nil && proxy != "":
		return throughProxy(s.target, proxy, err)
	case err != nil:
		return &Refusal{Why: err.Error(), Again: true}
	case answer.StatusCode == http.StatusProxyAuthRequired && proxy != "":
		return throughProxy(s.target, proxy, &connectError{answer.StatusCode})
	}
	if s.target.GRPC() {
		return grpcVerdict(answer, text, s.target.store())
	}
	return httpVerdict(answer, text, s.target.store())
}

// exchange sends q, and reads the answer.
func (s *Sender) exchange(q *http.Request) (answer *http.Response, text []byte, err error) {
	if answer, err = s.client.Do(q); err != nil {
		var at *url.Error
		if errors.As(err, &at) { // which names the address again
			err = at.Err
		}
		return nil, nil, err
	}
	defer answer.Body.Close()
	if text, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer)); err != nil {
		return nil, nil, fmt.Errorf("read the answer: %w", err)
	}
	return answer, text, nil
}

// request makes of r what the store of s gets.
func (s *Sender) request(ctx context.Context, r *Request) (*http.Request, error) {
	body := r.Body
	if s.target.GRPC() {
		body = frame(r)
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, s.target.Base.JoinPath(r.Path).String(),
		bytes.NewReader(body))
	if err != nil {
		return nil, &Refusal{Why: err.Error()}
	}
	header, err := s.header()
	if err != nil { // a file that is being replaced
		return nil, &Refusal{Why: err.Error(), Again: true}
	}
	maps.Copy(q.Header, header)
	q.Header.Set("Content-Type", r.ContentType)
	q.Header.Set("User-Agent", "fpstack")
	switch {
	case s.target.GRPC():
		q.Header.Set("TE", "trailers")
		if r.Gzip {
			q.Header.Set("Grpc-Encoding", "gzip")
		}
	case r.Gzip:
		q.Header.Set("Content-Encoding", "gzip")
	}
	for name, value := range s.target.store().header {
		q.Header.Set(name, value)
	}
	return q, nil
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

// httpVerdict says what an answer by HTTP means.
// Source: opentelemetry.io/docs/specs/otlp, "Failures".
func httpVerdict(answer *http.Response, text []byte, to *storeKind) error {
	form, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	why := string(text)
	if strings.HasSuffix(form, "protobuf") { // google.rpc.Status
		why = string(field(text, 2).Bytes)
	}
	if place := answer.Header.Get("Location"); place != "" {
		why = "it points to " + place + "; a redirect is not followed, as a token would go there"
	}
	r := &Refusal{Why: said(answer.Status, why), HTTP: answer.StatusCode}
	switch answer.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		switch {
		case strings.HasPrefix(form, "text/"):
			r.Why = said("the answer is a text and not that of a store", why)
		case to.collector && !to.grpc && !wire.Valid(text):
			r.Why, r.Again, r.Most = "the answer is not that of a collector", true, uncertainTries
		case to.collector && !to.grpc:
			return partly(text)
		default:
			return nil
		}
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		r.Again, r.After = true, retryAfter(answer.Header)
	case http.StatusRequestTimeout, http.StatusInternalServerError:
		if !to.collector {
			r.Again, r.After, r.Most = true, retryAfter(answer.Header), uncertainTries
		}
	}
	return r
}

// Codes of gRPC with which a client may try again: CANCELLED, DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE,
// DATA_LOSS. Source: opentelemetry.io/docs/specs/otlp, "Failures".
var grpcAgain = map[int]bool{1: true, 4: true, 10: true, 11: true, 14: true, 15: true}

// exhausted is RESOURCE_EXHAUSTED. With a RetryInfo it is a limit that passes. Without one it is Pyroscope's limit of
// a rate, which passes as well, or a message that is too large and always will be.
const exhausted = 8

// UNKNOWN and INTERNAL are what Pyroscope and Parca answer while a part of theirs is away, and for a mistake of theirs.
// Source: shouldRetry of grafana/alloy's pyroscope.write; parca-agent's BatchWriteClient tries again whatever it was.
const (
	unknown  = 2
	internal = 13
)

// uncertainTries is how often a request is tried where it is uncertain whether another try helps: as often as
// pyroscope.write does (max_backoff_retries).
const uncertainTries = 10

// grpcVerdict says what an answer by gRPC means. Where there is no body the trailers are in the header.
func grpcVerdict(answer *http.Response, text []byte, to *storeKind) error {
	trailer := answer.Trailer
	if trailer.Get("Grpc-Status") == "" {
		trailer = answer.Header
	}
	code, err := strconv.Atoi(trailer.Get("Grpc-Status"))
	switch {
	case err != nil && answer.StatusCode == http.StatusOK:
		return &Refusal{Why: "the answer has no status of gRPC: is that a store, and this its port for gRPC?",
			Again: true, Most: uncertainTries, HTTP: answer.StatusCode}
	case err != nil:
		return httpVerdict(answer, text, to)
	case code == 0:
		if len(text) < 5 || text[0] != 0 {
			return nil
		}
		return partly(text[5:])
	}
	message, err := url.PathUnescape(trailer.Get("Grpc-Message"))
	if err != nil {
		message = trailer.Get("Grpc-Message")
	}
	r := &Refusal{Why: said("gRPC status "+strconv.Itoa(code), message), Again: grpcAgain[code],
		After: retryInfo(trailer.Get("Grpc-Status-Details-Bin")), HTTP: answer.StatusCode, GRPC: code}
	if code == exhausted || !to.collector && (code == unknown || code == internal) {
		r.Again = true
		if r.After == 0 {
			r.Most = uncertainTries
		}
	}
	return r
}

// partly reads what a collector could not take from its answer: ExportProfilesServiceResponse.
func partly(message []byte) error {
	part := field(message, 1).Bytes
	if n := field(part, 1).Number; n > 0 {
		return &PartError{int(min(n, math.MaxInt32)), string(field(part, 2).Bytes)}
	}
	return nil
}

// field is the last field of a message that has a number; the zero Field if there is none, or if bytes are no message.
func field(message []byte, number int) (found wire.Field) {
	for len(message) > 0 {
		f, rest, err := wire.Next(message)
		if err != nil {
			return wire.Field{}
		}
		if f.ID == number {
			found = f
		}
		message = rest
	}
	return found
}

// retryInfo reads how long to wait from the details of a status: google.rpc.Status, with one google.rpc.RetryInfo.
func retryInfo(details string) time.Duration {
	status, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(details, "="))
	if err != nil {
		return 0
	}
	for len(status) > 0 {
		f, rest, err := wire.Next(status)
		if err != nil {
			return 0
		}
		if f.ID == 3 && strings.HasSuffix(string(field(f.Bytes, 1).Bytes), "/google.rpc.RetryInfo") {
			delay := field(field(f.Bytes, 2).Bytes, 1).Bytes
			seconds, nanos := field(delay, 1).Number, field(delay, 2).Number
			most := uint64(maxAfter / time.Second)
			return min(time.Duration(min(seconds, most))*time.Second+time.Duration(min(nanos, 1e9)), maxAfter)
		}
		status = rest
	}
	return 0
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

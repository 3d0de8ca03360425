package push

import (
	"github.com/fpstack/fpstack/push/otlp"
	"github.com/fpstack/fpstack/push/parca"
	"github.com/fpstack/fpstack/push/pyroscope"
)

// Kind is a sort of store, and the way to it.
type Kind string

// The kinds.
const (
	OTLPHTTP  Kind = "otlp+http"
	OTLPGRPC  Kind = "otlp+grpc"
	Pyroscope Kind = "pyroscope"
	Parca     Kind = "parca"
	Folder    Kind = "file"
)

// storeKind is all that is known here of a kind. What a person does about its answers is told in push/reach.
type storeKind struct {
	kind       Kind
	plain, tls string // schemes of its addresses, without TLS and with it; "" for none
	port       string // that it listens on where an address has none
	folder     bool   // files are written, and nobody is asked
	grpc       bool
	// path and contentType are of its requests.
	path, contentType string
	header            map[string]string // that a request has besides
	limit             storeLimit
	// collector is one of OTLP: it takes several processes at once, and a specification says what is tried again.
	collector bool
	// encode makes the body of a request of one process, within the limit; nil for a collector.
	encode func(q *Request, r *Recorded, values []value, limit storeLimit) error
}

// pprofType is the type of a file of a Folder.
const pprofType = "application/vnd.google.protobuf+gzip"

// stores are all of them. The limits are what they take by default, and what of it we use.
//
// Source: max_request_body_size of the collector's confighttp, 20 MiB; the default of grpc-go for a message, 4 MiB,
// which counts when it is decompressed; Pyroscope's -validation.max-profile-size-bytes, 4 MiB, and
// -validation.max-profile-stacktrace-samples, 16,000.
var stores = []storeKind{
	{kind: OTLPHTTP, plain: "otlp+http", tls: "otlp+https", port: "4318",
		path: otlp.Path, contentType: "application/x-protobuf",
		limit: storeLimit{request: 20 << 20}, collector: true},
	{kind: OTLPGRPC, plain: "otlp+grpc", tls: "otlp+grpcs", port: "4317", grpc: true,
		path: otlp.Method, contentType: "application/grpc+proto",
		limit: storeLimit{request: 4 << 20}, collector: true},
	{kind: Pyroscope, plain: "pyroscope", tls: "pyroscope+https", port: "4040",
		path: pyroscope.Path, contentType: "application/proto",
		header: map[string]string{"Connect-Protocol-Version": "1"},
		limit:  storeLimit{profile: 4 << 20, samples: 16_000}, encode: (*Request).pyroscope},
	{kind: Parca, plain: "parca", tls: "parca+https", port: "7070", grpc: true,
		path: parca.Method, contentType: "application/grpc+proto",
		limit: storeLimit{request: 4 << 20, profile: 64 << 20}, encode: (*Request).parca},
	{kind: Folder, plain: "file", folder: true, contentType: pprofType,
		limit: storeLimit{request: maxRequest - maxHead}, encode: (*Request).file},
}

// store is the row of t.
func (t *Target) store() *storeKind {
	for i := range stores {
		if stores[i].kind == t.Kind {
			return &stores[i]
		}
	}
	return &storeKind{kind: t.Kind}
}

package push

import (
	"bytes"
	"compress/gzip"
	"sync"

	pprof "github.com/google/pprof/profile"
)

// zippers are used again: each takes about a megabyte, and each process has a request or two in each interval.
var zippers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// compressed is plain, compressed by gzip.
func compressed(plain []byte) ([]byte, error) {
	var b bytes.Buffer
	zip := zippers.Get().(*gzip.Writer)
	defer zippers.Put(zip)
	zip.Reset(&b)
	if _, err := zip.Write(plain); err != nil {
		return nil, err
	}
	err := zip.Close()
	return b.Bytes(), err
}

// encoded is p as profile.proto, not compressed.
func encoded(p *pprof.Profile) ([]byte, error) {
	var b bytes.Buffer
	err := p.WriteUncompressed(&b)
	return b.Bytes(), err
}

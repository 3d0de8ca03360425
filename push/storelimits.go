package push

import (
	"crypto/sha256"
	"fmt"

	pprof "github.com/google/pprof/profile"
)

// storeLimit is how much a store takes; 0 is no limit.
type storeLimit struct {
	request int // bytes of a request, not compressed
	profile int // bytes of a profile, not compressed
	samples int // of a profile
}

// tooLargeError says that something is more than a store takes.
type tooLargeError struct{ n, most int }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("%d bytes or samples of at most %d", e.n, e.most)
}

func (l storeLimit) check(request int) error {
	if l.request > 0 && request > l.request {
		return &tooLargeError{request, l.request}
	}
	return nil
}

// pprof encodes p, compressed.
func (l storeLimit) pprof(p *pprof.Profile) ([]byte, error) {
	if l.samples > 0 && len(p.Sample) > l.samples {
		return nil, &tooLargeError{len(p.Sample), l.samples}
	}
	plain, err := encoded(p)
	if err != nil {
		return nil, err
	}
	if l.profile > 0 && len(plain) > l.profile {
		return nil, &tooLargeError{len(plain), l.profile}
	}
	return compressed(plain)
}

// parts cuts r in two, each with a half of its samples and ids of its own, which follow from those of r.
func (r *Recorded) parts() []Recorded {
	half := len(r.Of.Sample) / 2
	parts := make([]Recorded, 2)
	for n, samples := range [][]*pprof.Sample{r.Of.Sample[half:], r.Of.Sample[:half]} {
		p := shallow(r.Of)
		p.Sample = samples
		parts[n] = Recorded{Attributes: r.Attributes, Of: compact(p), Base: r.Base}
		for _, id := range r.IDs {
			sum := sha256.Sum256(append(id[:], byte(n)))
			parts[n].IDs = append(parts[n].IDs, [16]byte(sum[:16]))
		}
	}
	return parts
}

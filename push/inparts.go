package push

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/fpstack/fpstack/push/otlp"
)

// sendInParts sends a request to a collector. One that it refuses for what is in it is sent again as two halves, and
// they again: a profile that a store does not take is no reason to lose those of the other processes. Where a half
// is to be tried again the whole request is, under the same ids.
func (s *Sender) sendInParts(ctx context.Context, r *Request) error {
	err := s.Send(ctx, r)
	var refusal *Refusal
	if !errors.As(err, &refusal) || !refusal.forContent() || len(r.Series) < 2 {
		return err
	}
	halves, ok := r.halves()
	if !ok {
		return err
	}
	refused, why := 0, ""
	for _, half := range halves {
		var part *PartError
		err := s.sendInParts(ctx, half)
		switch {
		case err == nil:
		case errors.As(err, &part):
			refused, why = refused+part.Refused, part.Why
		case errors.As(err, &refusal) && !refusal.Again:
			refused, why = refused+half.Profiles, refusal.Why
		default:
			return err
		}
	}
	if refused == 0 {
		return nil
	}
	return &PartError{refused, why}
}

// forContent reports whether a store refused what is in a request, or how much of it, and not who sends or where.
func (r *Refusal) forContent() bool {
	const invalidArgument = 3
	return !r.Again && (r.HTTP == http.StatusBadRequest || r.HTTP == http.StatusRequestEntityTooLarge ||
		r.HTTP == http.StatusUnprocessableEntity || r.GRPC == invalidArgument)
}

// halves parts a request of several processes in two.
func (r *Request) halves() (halves [2]*Request, ok bool) {
	zip, err := gzip.NewReader(bytes.NewReader(r.Body))
	if err != nil {
		return halves, false
	}
	plain, err := io.ReadAll(io.LimitReader(zip, maxRequest))
	if err != nil {
		return halves, false
	}
	bodies, profiles, ok := otlp.Halves(plain)
	middle := (len(r.Series) + 1) / 2 // as Halves parts them
	for i, series := range [][]uint32{r.Series[:middle], r.Series[middle:]} {
		half := *r
		half.Series, half.Profiles = series, profiles[i]
		if half.Body, err = compressed(bodies[i]); err != nil {
			return halves, false
		}
		halves[i] = &half
	}
	return halves, ok
}

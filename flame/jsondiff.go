package flame

import "github.com/fpstack/fpstack/profile"

// jsonChange is one function of a difference. Errors are absent where a side does not count its samples.
type jsonChange struct {
	Function    string   `json:"function"`
	Waits       bool     `json:"waits,omitempty"`
	SelfBefore  int64    `json:"self_before"`
	Self        int64    `json:"self"`
	SelfError   *float64 `json:"self_error,omitempty"`
	SelfNoise   bool     `json:"self_noise"`
	TotalBefore int64    `json:"total_before"`
	Total       int64    `json:"total"`
	TotalError  *float64 `json:"total_error,omitempty"`
	TotalNoise  bool     `json:"total_noise"`
}

// difference writes what the columns of values do not show of d: by what the older values were multiplied, and how the
// functions changed.
func (o *jsonWriter) difference(d *profile.Diff) {
	typ := d.New.Default
	o.raw(",\n\"difference\":{\"value\":")
	o.any(typeJSON(d.New.Types[typ]))
	o.value("scale", d.Scale[typ])
	changes := d.Changes(typ)
	o.member("functions", len(changes), func(i int) any {
		c := &changes[i]
		out := jsonChange{Function: profile.Lossless(c.Name), Waits: c.Waits, SelfBefore: c.SelfBefore, Self: c.Self,
			SelfNoise:   c.SelfNoise,
			TotalBefore: c.TotalBefore, Total: c.Total, TotalNoise: c.TotalNoise}
		if c.Known {
			out.SelfError, out.TotalError = &c.SelfError, &c.TotalError
		}
		return out
	})
	o.raw("}")
}

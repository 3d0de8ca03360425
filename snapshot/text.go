package snapshot

import (
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"
)

// text is a string of any bytes in JSON. encoding/json would replace what is not UTF-8, and
// names of threads and files need not be: those become {"hex":"ff00"}.
type text string

type hexText struct {
	Hex string `json:"hex"`
}

func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(hexText{hex.EncodeToString([]byte(t))})
}

func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] != '{' {
		return json.Unmarshal(b, (*string)(t))
	}
	var h hexText
	if err := json.Unmarshal(b, &h); err != nil {
		return err
	}
	raw, err := hex.DecodeString(h.Hex)
	*t = text(raw)
	return err
}

// texts converts a list and keeps nil as nil.
func texts[To, From ~string](in []From) []To {
	if in == nil {
		return nil
	}
	out := make([]To, len(in))
	for i, s := range in {
		out[i] = To(s)
	}
	return out
}

func textMap[To, From ~string](in map[int]From) map[int]To {
	if in == nil {
		return nil
	}
	out := make(map[int]To, len(in))
	for k, s := range in {
		out[k] = To(s)
	}
	return out
}

package page

import (
	"encoding/json"
	"math"

	"github.com/fpstack/fpstack/profile"
)

// theme is one of the two sets of colours of assets/palette.json. Each kind has a hue of its
// own that keeps apart from the others where red and green look the same, and a name always
// has the same shade of it.
type theme struct {
	Text    string              `json:"text"`
	Paper   string              `json:"paper"`
	Kinds   map[string][]string `json:"kinds"`
	More    []string            `json:"more"`
	Less    []string            `json:"less"`
	Equal   string              `json:"equal"`
	Hit     string              `json:"hit"`
	HitText string              `json:"hitText"`
}

// kindNames are the keys of theme.Kinds, kindLabels what a legend says of them.
var (
	kindNames = [kinds]string{"application", "library", "runtime", "kernel", "inlined", "unnamed", "script",
		"wasm", "thread", "smaller"}
	kindLabels = [kinds]string{"application", "library", "runtime, JIT", "kernel, waiting", "inlined", "not named",
		"language of a runtime", "WebAssembly", "thread", "smaller"}
)

// palette returns the themes by name: light and dark.
func palette() (map[string]theme, error) {
	data, err := assets.ReadFile("assets/palette.json")
	if err != nil {
		return nil, err
	}
	var themes map[string]theme
	if err := json.Unmarshal(data, &themes); err != nil {
		return nil, err
	}
	return themes, nil
}

// fill returns the colour of p.
func (t *theme) fill(p *place) string { return t.Kinds[kindNames[p.kind]][p.shade] }

// languageKinds are those of functions for which profile.Kind.Language is true.
var languageKinds = [...]kind{script, wasm}

// changes are the shares of the whole from which a change has the next strength, strengths is that for a person.
var changes = [...]float64{0.0005, 0.002, 0.01, 0.03, 0.1}

const strengths = "stronger from 0.05, 0.2, 1, 3, 10 points of the whole"

// description is what the scripts know from here, as JavaScript: what Go draws and what they draw follow one rule.
func description() (string, error) {
	themes, err := palette()
	if err != nil {
		return "", err
	}
	js, err := json.Marshal(map[string]any{"PALETTE": themes, "KINDS": kindNames, "LABELS": kindLabels,
		"KERNEL": kernel, "LANGUAGES": languageKinds, "THREAD": thread,
		"SMALLER": smaller, "SHADES": shades, "WAITS": waitsBit, "FIRST": firstFrame, "ROW": rowHeight,
		"LETTER": letterWidth,
		"MARGIN": margin, "CHANGES": changes, "STRENGTHS": strengths, "NOISE": profile.NoiseErrors})
	if err != nil {
		return "", err
	}
	return "const {PALETTE, KINDS, LABELS, KERNEL, LANGUAGES, THREAD, SMALLER, SHADES, WAITS, FIRST, ROW, LETTER, " +
		"MARGIN, CHANGES, STRENGTHS, NOISE} = " +
		string(js) + ";\n", nil
}

// change returns the colour for a change by share of the whole.
func (t *theme) change(share float64) string {
	strength := -1
	for _, from := range changes {
		if math.Abs(share) >= from {
			strength++
		}
	}
	switch {
	case strength < 0:
		return t.Equal
	case share < 0:
		return t.Less[strength]
	}
	return t.More[strength]
}

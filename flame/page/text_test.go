package page

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

func TestKinds(t *testing.T) {
	for name, c := range map[string]struct {
		f      profile.Frame
		module string
		want   kind
	}{
		"function of the program":       {profile.Frame{Func: "main"}, "/usr/bin/redis-server", application},
		"nothing known of the module":   {profile.Frame{Func: "main"}, "", application},
		"library with a version":        {profile.Frame{Func: "read"}, "/lib/libc.so.6", library},
		"vdso":                          {profile.Frame{Func: "gettime", Kind: profile.VDSO}, "[vdso]", library},
		"code a runtime made":           {profile.Frame{Func: "f", Kind: profile.JIT}, "", runtime},
		"JavaScript":                    {profile.Frame{Func: "f", Kind: profile.JavaScript}, "", script},
		"WebAssembly":                   {profile.Frame{Func: "f", Kind: profile.Wasm}, "", wasm},
		"code of a mapping":             {profile.Frame{Func: "[jit anon:code]", Kind: profile.Unknown}, "", unnamed},
		"Go's scheduler":                {profile.Frame{Func: "runtime.mcall"}, "/bin/server", runtime},
		"interpreter":                   {profile.Frame{Func: "PyEval"}, "/lib/libpython3.11.so.1.0", runtime},
		"wait in the kernel":            {profile.Frame{Func: "read", Kind: profile.Kernel}, "", kernel},
		"inlined in a library":          {profile.Frame{Func: "f", Inlined: true}, "/lib/libc.so.6", inlined},
		"no name":                       {profile.Frame{}, "/lib/libc.so.6", unnamed},
		"a name from nobody that knows": {profile.Frame{Func: "0x12", Kind: profile.Unknown}, "", unnamed},
	} {
		if got := kindOf(&c.f, c.module); got != c.want {
			t.Errorf("%s: %s, want %s", name, kindNames[got], kindNames[c.want])
		}
	}
}

// TestLanguages: a function of a language is drawn as one, whichever it is, and the list that scripts have is whole.
func TestLanguages(t *testing.T) {
	languages := map[kind]bool{}
	for k := profile.Native; k <= profile.Julia; k++ {
		drawn := kindOf(&profile.Frame{Func: "f", Kind: k}, "")
		if own := slices.Contains(languageKinds[:], drawn); own != k.Language() {
			t.Errorf("%s is drawn as %s, which says language: %v", k, kindNames[drawn], own)
		}
		languages[drawn] = languages[drawn] || k.Language()
	}
	if profile.Kind(profile.Julia + 1).Language() {
		t.Errorf("a kind behind %s is of a language: it belongs here", profile.Julia)
	}
	for _, k := range languageKinds {
		if !languages[k] {
			t.Errorf("nothing is drawn as %s", kindNames[k])
		}
	}
}

func TestHottestCountsRecursionOnce(t *testing.T) {
	p := stacks(profile.SamplesCount, "main;f;g;f 5", "main;f 2", "main;g;f 3", "main;g 1")
	opt := Options{}
	g := newGraph(p, opt)
	var got []string
	for _, f := range g.hottest(0, 10) {
		got = append(got, fmt.Sprintf("%s %d %d", g.places[f.frame].name, f.self, f.total))
	}
	if want := "f 10 10, g 1 9, main 0 11"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, ", "), want)
	}
}

type colour [3]float64 // linear light, 0 to 1

func parse(t *testing.T, hex string) colour {
	t.Helper()
	var rgb [3]int
	if n, err := fmt.Sscanf(hex, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); n != 3 {
		t.Fatalf("colour %q: %v", hex, err)
	}
	var c colour
	for i, v := range rgb {
		s := float64(v) / 255
		if c[i] = s / 12.92; s > 0.04045 {
			c[i] = math.Pow((s+0.055)/1.055, 2.4)
		}
	}
	return c
}

// luminance and contrast as in WCAG 2.2, "relative luminance" and "contrast ratio".
func (c colour) luminance() float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }

func contrast(a, b colour) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// deuteranopia is how c looks to someone without green cones.
// Source: Machado, Oliveira, Fernandes, A Physiologically-based Model for Simulation of
// Color Vision Deficiency (2009), table for severity 1.0.
func (c colour) deuteranopia() colour {
	clip := func(v float64) float64 { return min(1, max(0, v)) }
	return colour{
		clip(0.367322*c[0] + 0.860646*c[1] - 0.227968*c[2]),
		clip(0.280085*c[0] + 0.672501*c[1] + 0.047413*c[2]),
		clip(-0.011820*c[0] + 0.042940*c[1] + 0.968881*c[2]),
	}
}

// lab is CIE L*a*b* for the white of sRGB.
func (c colour) lab() [3]float64 {
	f := func(v float64) float64 {
		if v > 216.0/24389 {
			return math.Cbrt(v)
		}
		return (24389.0/27*v + 16) / 116
	}
	x := f((0.4124*c[0] + 0.3576*c[1] + 0.1805*c[2]) / 0.9505)
	y := f(c.luminance())
	z := f((0.0193*c[0] + 0.1192*c[1] + 0.9505*c[2]) / 1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func distance(a, b colour) float64 {
	p, q := a.lab(), b.lab()
	return math.Sqrt((p[0]-q[0])*(p[0]-q[0]) + (p[1]-q[1])*(p[1]-q[1]) + (p[2]-q[2])*(p[2]-q[2]))
}

func TestTextStandsOutOnEveryColour(t *testing.T) {
	themes, err := palette()
	if err != nil {
		t.Fatal(err)
	}
	for name, th := range themes {
		fills := append(append([]string{th.Equal, th.Paper}, th.More...), th.Less...)
		for _, k := range kindNames {
			if len(th.Kinds[k]) != shades {
				t.Fatalf("%s: %d shades of %s, want %d", name, len(th.Kinds[k]), k, shades)
			}
			fills = append(fills, th.Kinds[k]...)
		}
		for _, fill := range fills {
			if got := contrast(parse(t, fill), parse(t, th.Text)); got < 4.5 {
				t.Errorf("%s: contrast of text on %s is %.2f, want at least 4.5", name, fill, got)
			}
		}
		if got := contrast(parse(t, th.Hit), parse(t, th.HitText)); got < 4.5 {
			t.Errorf("%s: contrast of text on a search hit is %.2f, want at least 4.5", name, got)
		}
	}
}

// TestFunctionsComeFirst: what is no function comes behind those that are, as the scripts rely on.
func TestFunctionsComeFirst(t *testing.T) {
	if want := []string{"thread", "smaller"}; !slices.Equal(kindNames[thread:], want) {
		t.Errorf("kinds from thread on are %q, want %q", kindNames[thread:], want)
	}
}

// A difference of 8 in L*a*b* is seen at a glance by most; 2.3 is just noticeable.
func TestKindsDifferWithoutGreenCones(t *testing.T) {
	themes, err := palette()
	if err != nil {
		t.Fatal(err)
	}
	functions := kindNames[:thread]
	for name, th := range themes {
		for i, a := range functions {
			for _, b := range functions[:i] {
				p, q := parse(t, th.Kinds[a][shades/2]).deuteranopia(), parse(t, th.Kinds[b][shades/2]).deuteranopia()
				if got := distance(p, q); got < 8 {
					t.Errorf("%s: %s and %s are %.1f apart, want at least 8", name, a, b, got)
				}
			}
		}
		for i := range th.More {
			if got := distance(parse(t, th.More[i]).deuteranopia(), parse(t, th.Less[i]).deuteranopia()); got < 15 {
				t.Errorf("%s: more and less of strength %d are %.1f apart, want at least 15", name, i, got)
			}
		}
	}
}

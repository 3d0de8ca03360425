package page

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// clean makes s fit for XML and for a reader's eyes.
func clean(s string) string { return text.Clean(s, utf8.RuneError) }

// escape replaces what has a meaning in XML and HTML, in text and in quoted attributes.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace

// amount writes v; all says that it is everything, of which a person should know that it is more than the clock shows.
func (t *shown) amount(v float64, all bool) string {
	if all {
		return text.Quantity(v, t.Unit) + t.whose()
	}
	return text.Quantity(v, t.Unit)
}

// whose says that a sum is one over threads.
func (t *shown) whose() string {
	if t.Whole {
		return " of thread time"
	}
	return ""
}

// share writes part of whole in per cent.
func share(part, whole float64) string { return text.Percent(part, whole, 2) }

// typeTitle names a value as the page's switch does.
func typeTitle(t profile.ValueType) string {
	if t.Unit == "count" || t.Unit == "" || t.Unit == "nanoseconds" {
		return clean(t.Type)
	}
	return clean(fmt.Sprintf("%s (%s)", t.Type, t.Unit))
}

// numbered names a process or thread: "redis-server 4121", as much of it as is known.
func numbered(name string, id int) string {
	switch {
	case id == 0:
		return name
	case name == "":
		return strconv.Itoa(id)
	}
	return name + " " + strconv.Itoa(id)
}

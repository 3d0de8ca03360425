package hotspot

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// demangled is the name of a method as the language calls it that its source file is of, else that of Java.
func demangled(class, method, file string) (name string) {
	java := class + "." + method
	switch {
	case strings.HasSuffix(file, ".clj"), strings.HasSuffix(file, ".cljc"):
		name = clojure(class, method)
	case strings.HasSuffix(file, ".scala"):
		name = scala(java)
	}
	return cmp.Or(name, java)
}

// clojureCalls are the methods by which a function of Clojure is called.
var clojureCalls = []string{"invoke", "invokeStatic", "invokePrim", "doInvoke"}

// clojure is the function of Clojure that a class is of, as stack traces of Clojure have it: `shop.till/ring-up!`.
// Source: clojure.lang.Compiler.demunge and clojure.stacktrace of Clojure 1.11.
func clojure(class, method string) string {
	space, function, ok := strings.Cut(class, "$")
	if !ok || !slices.Contains(clojureCalls, method) {
		return ""
	}
	return demunge(space) + "/" + demunge(strings.ReplaceAll(function, "$", "/"))
}

// demunge is a name of Clojure.
func demunge(name string) string { return munged.Replace(name) }

var munged = strings.NewReplacer("_COLON_", ":", "_PLUS_", "+", "_GT_", ">", "_LT_", "<", "_EQ_", "=", "_TILDE_", "~",
	"_BANG_", "!", "_CIRCA_", "@", "_SHARP_", "#", "_SINGLEQUOTE_", "'", "_DOUBLEQUOTE_", `"`, "_PERCENT_", "%",
	"_CARET_", "^", "_AMPERSAND_", "&", "_STAR_", "*", "_BAR_", "|", "_LBRACE_", "{", "_RBRACE_", "}",
	"_LBRACK_", "[", "_RBRACK_", "]", "_SLASH_", "/", "_BSLASH_", `\`, "_QMARK_", "?", "_", "-")

// scala is a name of Scala: operators are written as words, and other characters that Java does not have in names by
// their number. Source: scala.reflect.NameTransformer of Scala 2.13 and 3.
func scala(name string) string {
	const mark, digits = "$u", 4
	name = operators.Replace(name)
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(name, mark)
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		name = rest
		if len(rest) >= digits {
			if n, err := strconv.ParseUint(rest[:digits], 16, 16); err == nil && !utf16.IsSurrogate(rune(n)) {
				out.WriteRune(rune(n))
				name = rest[digits:]
				continue
			}
		}
		out.WriteString(mark)
	}
}

var operators = strings.NewReplacer("$tilde", "~", "$eq", "=", "$less", "<", "$greater", ">", "$bang", "!", "$hash",
	"#", "$percent", "%", "$up", "^", "$amp", "&", "$bar", "|", "$times", "*", "$div", "/", "$plus", "+", "$minus", "-",
	"$colon", ":", "$bslash", `\`, "$qmark", "?", "$at", "@")

package hang

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// forPeople are the fields that hold words for a person: rules go by typed ones.
var forPeople = map[string]bool{"Text": true, "Kind": true, "Note": true, "Sentence": true, "Evidence": true,
	"Unlisted": true, "Mode": true, "Because": true, "does": true}

// TestNoRuleComparesWords: no rule of this room, nor of waits, compares a literal with words for a person, nor searches
// in them.
func TestNoRuleComparesWords(t *testing.T) {
	ours, _ := filepath.Glob("*.go")
	theirs, _ := filepath.Glob("../waits/*.go")
	files := token.NewFileSet()
	seen := 0
	for _, name := range append(ours, theirs...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		seen++
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if (n.Op == token.EQL || n.Op == token.NEQ) && (isWords(n.X) && isLiteral(n.Y) ||
					isWords(n.Y) && isLiteral(n.X)) {
					t.Errorf("%s: words are compared", files.Position(n.Pos()))
				}
			case *ast.CallExpr:
				if isSearch(n.Fun) && len(n.Args) == 2 && isWords(n.Args[0]) {
					t.Errorf("%s: words are searched", files.Position(n.Pos()))
				}
			}
			return true
		})
	}
	if seen < 40 {
		t.Errorf("%d files were looked at", seen)
	}
}

func isWords(x ast.Expr) bool {
	if call, ok := x.(*ast.CallExpr); ok && len(call.Args) == 1 { // string(x)
		x = call.Args[0]
	}
	if index, ok := x.(*ast.IndexExpr); ok {
		x = index.X
	}
	s, ok := x.(*ast.SelectorExpr)
	return ok && forPeople[s.Sel.Name]
}

func isLiteral(x ast.Expr) bool {
	l, ok := x.(*ast.BasicLit)
	return ok && l.Kind == token.STRING && l.Value != `""`
}

func isSearch(fun ast.Expr) bool {
	s, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := s.X.(*ast.Ident)
	return ok && of.Name == "strings" && (strings.HasPrefix(s.Sel.Name, "Has") || s.Sel.Name == "Contains" ||
		s.Sel.Name == "Index" || s.Sel.Name == "Cut")
}

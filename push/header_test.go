package push

import (
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParseHeaders(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good", "X-Team: pay\n\nAuthorization: Bearer abc\n", 0o600)
	for _, tt := range []struct {
		name    string
		written []string
		want    http.Header
		err     string
	}{
		{"none", nil, http.Header{}, ""},
		{"one", []string{"X-Scope-OrgID: team"}, http.Header{"X-Scope-Orgid": {"team"}}, ""},
		{"a colon in the value", []string{"a:b:c"}, http.Header{"A": {"b:c"}}, ""},
		{"a file", []string{"@" + good}, http.Header{"X-Team": {"pay"}, "Authorization": {"Bearer abc"}}, ""},
		{"no colon", []string{"X-Team pay"}, nil, "want a header"},
		{"no value", []string{"X-Team:"}, nil, "want a header"},
		{"white space in the name", []string{"X Team: pay"}, nil, "want a header"},
		{"a line end in the value", []string{"X-Team: pay\r\nX-Other: y"}, nil, "not printable"},
		{"one of ours", []string{"content-length: 4"}, nil, "fpstack sets it"},
		{"a file that others may read", []string{"@" + write("open", "a: b", 0o644)}, nil, "others may read"},
		{"an empty file", []string{"@" + write("empty", "\n", 0o600)}, nil, "it is empty"},
		{"no file", []string{"@" + dir + "/none"}, nil, "no such file"},
	} {
		got, err := ParseHeaders(tt.written)
		if tt.err == "" && (err != nil || !reflect.DeepEqual(got, tt.want)) ||
			tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: got %v, %v; want %v, %q", tt.name, got, err, tt.want, tt.err)
		}
	}
}

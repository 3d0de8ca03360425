package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListSlow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.json")
	if err := os.WriteFile(path, []byte(`{"Action":"run","Package":"p","Test":"TestA"}
not JSON
{"Action":"pause","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":3}
{"Action":"pass","Package":"p","Test":"TestB/part","Elapsed":9}
{"Action":"fail","Package":"p","Test":"TestB","Elapsed":9.5}
{"Action":"pass","Package":"q","Test":"TestC","Elapsed":0.5}
{"Action":"skip","Package":"q","Test":"TestD","Elapsed":70}
{"Action":"pass","Package":"q","Elapsed":80}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := listSlow([]string{path}, 2, &out); err != nil {
		t.Fatal(err)
	}
	const want = "    9.5 s  p TestB\n    3.0 s  p TestA beside others\n" +
		"   10.0 s  in all of those that let no other of their package run\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if err := listSlow([]string{path + "-none"}, 2, &out); err == nil {
		t.Error("a log that is not there was read")
	}
}

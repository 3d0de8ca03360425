package main

import (
	"archive/tar"
	"bytes"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

var day = time.Date(2026, 11, 22, 23, 42, 1, 0, time.UTC)

func TestVersionsOfPackages(t *testing.T) {
	for _, tt := range []struct{ version, deb, apk string }{
		{"v1.2.3", "1.2.3", "1.2.3"},
		{"v1.2.3-rc1", "1.2.3~rc1", "1.2.3_rc1"},
		{"devel", "0~git20261122.0123456789ab", "0_git20261122"},
	} {
		r := &release{version: tt.version, commit: "0123456789abcdef", date: day}
		for i, want := range []string{tt.deb, tt.deb, tt.apk} {
			if got := r.versionFor(formats[i]); got != want {
				t.Errorf("%s for %s: got %q, want %q", tt.version, formats[i].name, got, want)
			}
		}
	}
}

// TestOrder asks dpkg whether a candidate comes before its release, and what has none before all.
func TestOrder(t *testing.T) {
	dpkg, err := exec.LookPath("dpkg")
	if err != nil {
		t.Skip("dpkg is not installed")
	}
	var last string
	for _, version := range []string{"devel", "v0.9.0", "v1.0.0-rc1", "v1.0.0-rc2", "v1.0.0"} {
		r := &release{version: version, commit: "0123456789abcdef", date: day}
		now := r.versionFor(formats[0]) + "-1"
		if last != "" && exec.Command(dpkg, "--compare-versions", last, "lt", now).Run() != nil {
			t.Errorf("dpkg does not sort %q before %q", last, now)
		}
		last = now
	}
}

func TestParseRefuses(t *testing.T) {
	good := func() []string {
		return []string{"-source", ".", "-out", t.TempDir(), "-version", "v1.2.3", "-commit", "ab", "-date",
			"2026-11-22T23:42:01Z"}
	}
	if _, err := parse(good()); err != nil {
		t.Fatalf("a full command line: %v", err)
	}
	for name, more := range map[string][]string{
		"a version of two numbers":      {"-version", "v1.2"},
		"a candidate that apk has not":  {"-version", "v1.2.3-beta.1"},
		"a version that is a path":      {"-version", "../v1.2.3"},
		"no commit":                     {"-commit", ""},
		"a date that is none":           {"-date", "yesterday"},
		"an unknown architecture":       {"-arch", "amd64,vax"},
		"a folder that is not empty":    {"-out", "."},
		"words that no flag takes":      {"more"},
		"a flag that there is not":      {"-publish"},
		"a word in place of the folder": {"-source", ""},
	} {
		if r, err := parse(append(good(), more...)); err == nil {
			t.Errorf("%s: got %+v, want an error", name, r)
		}
	}
}

func TestWriteTar(t *testing.T) {
	data, err := writeTar([]file{{"b/c/z", 0o755, []byte("z")}, {"tmp/", 0o1777, nil}, {"a", 0o644, []byte("a")}}, day)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(day) || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s: of %v, user %d, group %d", h.Name, h.ModTime, h.Uid, h.Gid)
		}
		got = append(got, h.FileInfo().Mode().String()+" "+h.Name)
	}
	want := []string{"-rw-r--r-- a", "drwxr-xr-x b/", "drwxr-xr-x b/c/", "-rwxr-xr-x b/c/z", "dtrwxrwxrwx tmp/"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLicensesByName(t *testing.T) {
	section := func(names, body string) string {
		return "\n" + strings.Repeat("=", 80) + "\n" + names + strings.Repeat("-", 80) + "\n\n" + body + "\n"
	}
	const bsd = "Redistribution and use in source and\nbinary forms, with or without modification, are permitted"
	got := licensesByName("preface\n" +
		section("  a v1\n  b v2\n", "Permission is hereby granted, free of charge, to any person obtaining a copy") +
		section("  b v2\n  c v3\n", bsd+" … used to endorse or promote products") +
		section("  d v4\n", bsd) + section("  d v4\n", "Additional IP Rights Grant (Patents)"))
	for name, want := range map[string]string{"a v1": "MIT", "b v2": "BSD-3-Clause AND MIT", "c v3": "BSD-3-Clause",
		"d v4": "BSD-2-Clause"} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
}

// TestMachines holds that every architecture has a name in every kind of package.
func TestMachines(t *testing.T) {
	for _, arch := range architectures {
		if names := machines[arch]; slices.Contains(names[:], "") {
			t.Errorf("%s: %q", arch, names)
		}
	}
}

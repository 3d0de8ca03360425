package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// The part of a bill of materials that is used here. Source: CycloneDX 1.6, bom-1.6.schema.json.
type (
	bom struct {
		Schema       string       `json:"$schema"`
		BOMFormat    string       `json:"bomFormat"`
		SpecVersion  string       `json:"specVersion"`
		SerialNumber string       `json:"serialNumber"`
		Version      int          `json:"version"`
		Metadata     bomMetadata  `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	bomMetadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version,omitempty"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Licenses   []license  `json:"licenses,omitempty"`
		PURL       string     `json:"purl,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	license struct {
		Expression string `json:"expression"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn,omitempty"`
	}
)

// billOfMaterials writes what the programs are linked from, as they say themselves, with the hash of each program.
func (r *release) billOfMaterials() error {
	text, err := r.read("cmd/licenses.txt")
	if err != nil {
		return err
	}
	licenses := licensesByName(string(text))
	self := component{Type: "application", Ref: "pkg:golang/github.com/fpstack/fpstack@" + r.version,
		PURL: "pkg:golang/github.com/fpstack/fpstack@" + r.version, Name: "fpstack", Version: r.version,
		Licenses: []license{{"Apache-2.0"}}, Properties: []property{{"commit", r.commit}}}
	modules := map[string]*debug.Module{}
	goVersion := ""
	var programs []component
	for _, arch := range r.arches {
		info, err := buildinfo.ReadFile(r.program(arch))
		if err != nil {
			return err
		}
		goVersion = strings.TrimPrefix(info.GoVersion, "go")
		for _, m := range info.Deps {
			modules[m.Path+" "+m.Version] = m
		}
		data, err := os.ReadFile(r.program(arch))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		name := "fpstack-linux-" + arch
		programs = append(programs, component{Type: "file", Ref: name, Name: name, Version: r.version,
			Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}}})
	}
	parts, err := components(modules, goVersion, licenses)
	if err != nil {
		return err
	}
	return r.writeBOM(self, programs, parts)
}

// components are the modules, and Go's standard library, by name.
func components(modules map[string]*debug.Module, goVersion string, licenses map[string]string) ([]component, error) {
	const std = "the standard library of Go"
	all := []component{{Type: "library", Ref: "pkg:golang/std@" + goVersion, PURL: "pkg:golang/std@" + goVersion,
		Name: "std", Version: goVersion, Licenses: []license{{licenses[std]}}}}
	if licenses[std] == "" {
		return nil, fmt.Errorf("find the licence of %s in cmd/licenses.txt: it is not there", std)
	}
	for name, m := range modules {
		if licenses[name] == "" {
			return nil, fmt.Errorf("find the licence of %s in cmd/licenses.txt: it is not there, or not known", name)
		}
		url := "pkg:golang/" + m.Path + "@" + m.Version
		all = append(all, component{Type: "library", Ref: url, PURL: url, Name: m.Path, Version: m.Version,
			Licenses: []license{{licenses[name]}}, Properties: []property{{"go.sum", m.Sum}}})
	}
	slices.SortFunc(all, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	return all, nil
}

func (r *release) writeBOM(self component, programs, parts []component) error {
	id := sha256.Sum256([]byte("fpstack " + r.version + " " + r.commit))
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID of version 8: RFC 9562, section 5.8
	own := dependency{Ref: self.Ref}
	all := []dependency{}
	for _, c := range slices.Concat(programs, parts) {
		own.DependsOn = append(own.DependsOn, c.Ref)
		all = append(all, dependency{Ref: c.Ref})
	}
	data, err := json.MarshalIndent(bom{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", BOMFormat: "CycloneDX", SpecVersion: "1.6",
		SerialNumber: fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16]), Version: 1,
		Metadata:   bomMetadata{r.date.Format(time.RFC3339), self},
		Components: slices.Concat(programs, parts), Dependencies: append([]dependency{own}, all...),
	}, "", "  ")
	if err != nil {
		return err
	}
	name := fmt.Sprintf("fpstack-%s.cdx.json", r.version)
	return os.WriteFile(filepath.Join(r.out, name), append(data, '\n'), 0o644)
}

// licensesByName gives, for each name that cmd/licenses.txt has, what its texts are, as an SPDX expression.
func licensesByName(text string) map[string]string {
	ids := map[string][]string{}
	for i, section := range strings.Split(text, "\n"+strings.Repeat("=", 80)+"\n") {
		names, body, ok := strings.Cut(section, "\n"+strings.Repeat("-", 80)+"\n")
		if i == 0 || !ok {
			continue
		}
		for name := range strings.Lines(names + "\n") {
			name = strings.TrimSpace(name)
			ids[name] = append(ids[name], spdx(body)...)
		}
	}
	all := map[string]string{}
	for name, found := range ids {
		slices.Sort(found)
		all[name] = strings.Join(slices.Compact(found), " AND ")
	}
	return all
}

// spdx gives the identifiers of the licences in a text; PATENTS files, which grant more, have none.
func spdx(text string) []string {
	text = strings.Join(strings.Fields(text), " ")
	var ids []string
	if strings.Contains(text, "Apache License Version 2.0") {
		ids = append(ids, "Apache-2.0")
	}
	if strings.Contains(text, "Permission is hereby granted, free of charge, to any person obtaining a copy") {
		ids = append(ids, "MIT")
	}
	switch bsd := "Redistribution and use in source and binary forms"; {
	case strings.Contains(text, bsd) && strings.Contains(text, "used to endorse or promote products"):
		ids = append(ids, "BSD-3-Clause")
	case strings.Contains(text, bsd):
		ids = append(ids, "BSD-2-Clause")
	}
	return ids
}

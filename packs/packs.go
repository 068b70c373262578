// Package packs holds the starter rule packs: rules with deterministic checks for code, infrastructure, finance, HR and
// communication, each with test cases that say what keeps it and what breaks it.
package packs

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/goccy/go-yaml"

	"tenet/internal/rule"
)

//go:embed */rules.yaml */cases.yaml
var files embed.FS

// Pack is a set of rules about one field, with its test cases.
type Pack struct {
	// Name is the name of the pack's folder, such as python.
	Name string
	// Title and Description describe the pack for people.
	Title, Description string
	// Rules is the rule file as the import of rules takes it.
	Rules []byte
	// Cases is a rule file with the pack's test cases.
	Cases []byte
}

// header is the part of a rule file above its rules.
type header struct {
	Pack        string         `yaml:"pack"`
	Title       string         `yaml:"title"`
	Description string         `yaml:"description"`
	Defaults    map[string]any `yaml:"defaults"`
}

// All returns the packs in the order of their names.
func All() ([]Pack, error) {
	names, err := Names()
	if err != nil {
		return nil, err
	}
	all := make([]Pack, 0, len(names))
	for _, name := range names {
		p, err := Load(name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Names returns the names of the packs in alphabetical order.
func Names() ([]string, error) {
	found, err := fs.Glob(files, "*/rules.yaml")
	if err != nil {
		return nil, fmt.Errorf("packs: %w", err)
	}
	for i := range found {
		found[i] = path.Dir(found[i])
	}
	return found, nil
}

// Load returns the pack of that name. The error is of code not_found if there is none.
func Load(name string) (Pack, error) {
	rules, err := files.ReadFile(name + "/rules.yaml")
	if err != nil {
		return Pack{}, rule.NotFound("starter pack", name)
	}
	cases, err := files.ReadFile(name + "/cases.yaml")
	if err != nil {
		return Pack{}, fmt.Errorf("packs: %w", err)
	}
	// Only the head is decoded here: the importer reads the rules.
	head, _, _ := bytes.Cut(rules, []byte("\nrules:"))
	var h header
	if err := yaml.UnmarshalWithOptions(head, &h, yaml.Strict()); err != nil {
		return Pack{}, fmt.Errorf("packs: %s/rules.yaml: %w", name, err)
	}
	if h.Pack != name {
		return Pack{}, fmt.Errorf("packs: %s/rules.yaml names the pack %q", name, h.Pack)
	}
	return Pack{
		Name: name, Title: h.Title, Description: strings.TrimSpace(h.Description), Rules: rules, Cases: cases,
	}, nil
}

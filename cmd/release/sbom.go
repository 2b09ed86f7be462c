package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// bom is a list of what is in a program (SBOM), in the format CycloneDX 1.6.
type bom struct {
	Schema      string      `json:"$schema"`
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    bomAbout    `json:"metadata"`
	Components  []component `json:"components"`
}

// bomAbout describes what the list is about. The time is that of the commit, or no two lists
// would be the same.
type bomAbout struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

// component is the program, or a module in it.
type component struct {
	Type    string    `json:"type"`
	Ref     string    `json:"bom-ref"`
	Name    string    `json:"name"`
	Version string    `json:"version"`
	PURL    string    `json:"purl"`
	Hashes  []bomHash `json:"hashes,omitempty"`
}

// bomHash is a sum.
type bomHash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

// newComponent returns a component for a module. Scanners find its weaknesses by the PURL.
func newComponent(kind, path, version string) component {
	purl := "pkg:golang/" + path + "@" + version
	return component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
}

// sbom returns the list of the modules in a program, from what the compiler has stamped
// into it, with the standard library, which has weaknesses of its own.
func sbom(p *program, own string) ([]byte, error) {
	about := newComponent("application", own, p.version)
	about.PURL += "?goarch=" + p.Arch + "&goos=" + p.OS
	list := bom{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata:   bomAbout{Timestamp: p.time.Format(time.RFC3339), Component: about},
		Components: []component{newComponent("library", "std", strings.TrimPrefix(p.goes, "go"))},
	}
	for _, m := range p.modules {
		c := newComponent("library", m.Path, m.Version)
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
		if err != nil || len(sum) == 0 {
			return nil, fmt.Errorf("the module %s in covey for %s has the sum %q, which go.sum cannot have", m.Path, p.target, m.Sum)
		}
		c.Hashes = []bomHash{{"SHA-256", hex.EncodeToString(sum)}}
		list.Components = append(list.Components, c)
	}
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the list of modules: %w", err)
	}
	return append(data, '\n'), nil
}

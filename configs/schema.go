package configs

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/coveyteam/covey/configs/yaml"
)

//go:embed team.schema.json
var schemaFile []byte

// Schema returns the JSON Schema (draft 2020-12) of the spec, for editors. It is the file
// team.schema.json, which `go generate` makes from the tables that Parse uses.
func Schema() []byte { return append([]byte(nil), schemaFile...) }

// makeSchema builds the schema from the tables.
func makeSchema() ([]byte, error) {
	root := yaml.ObjectSchema((&teamSpec{}).fields())
	root.Schema.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "covey team"
	root.Description = "A team of AI agents that `covey up` runs."
	root.Schema.Defs = root.Defs
	compact, err := root.Schema.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, compact, "", "  "); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	indented.WriteByte('\n')
	return indented.Bytes(), nil
}

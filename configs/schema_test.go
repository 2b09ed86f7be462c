package configs

import (
	"bytes"
	"os"
	"testing"
)

// TestSchemaIsCurrent is the house rule that the file follows the tables.
func TestSchemaIsCurrent(t *testing.T) {
	want, err := makeSchema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("team.schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(Schema(), want) {
		t.Error("team.schema.json is stale; run `go generate ./configs`")
	}
}

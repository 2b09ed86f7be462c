package teamtools

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
)

// metadataEvidence is the metadata key for evidence, for agents that use the task
// tools of other hosts, which have no evidence field.
const metadataEvidence = "evidence"

// readEvidence parses evidence in the forms that agents write: a text, an object
// with text or file, or a list of these. It returns no evidence for an empty
// input and null.
func readEvidence(given json.RawMessage) ([]tasks.Evidence, error) {
	var list []json.RawMessage
	if json.Unmarshal(given, &list) != nil {
		list = []json.RawMessage{given}
	}
	var out []tasks.Evidence
	for _, one := range list {
		e, err := readPiece(one)
		if err != nil {
			return nil, err
		}
		if e != (tasks.Evidence{}) {
			out = append(out, e)
		}
	}
	return out, nil
}

// readPiece parses one piece of evidence.
func readPiece(given json.RawMessage) (e tasks.Evidence, err error) {
	if len(given) == 0 || string(given) == "null" || json.Unmarshal(given, &e.Text) == nil {
		return e, nil
	}
	var fields struct{ Text, File, Path string }
	if err := json.Unmarshal(given, &fields); err != nil {
		return e, fmt.Errorf("evidence %s is neither text nor {\"text\": …, \"file\": …}: %w", given, err)
	}
	e = tasks.Evidence{Text: fields.Text, File: fields.File + fields.Path}
	if e == (tasks.Evidence{}) || fields.File != "" && fields.Path != "" {
		return e, fmt.Errorf("evidence %s: write {\"text\": …} or {\"file\": …}", given)
	}
	return e, nil
}

// withEvidence adds evidence from the evidence field and from the metadata to a
// patch. Metadata under the same key that is not evidence stays metadata.
func withEvidence(p tasks.Patch, given json.RawMessage) (tasks.Patch, error) {
	direct, err := readEvidence(given)
	if err != nil {
		return p, err
	}
	p.Evidence = direct
	if inMetadata, err := readEvidence(p.Metadata[metadataEvidence]); err == nil && len(inMetadata) > 0 {
		p.Evidence = append(p.Evidence, inMetadata...)
		p.Metadata = maps.Clone(p.Metadata)
		delete(p.Metadata, metadataEvidence)
	}
	return p, nil
}

// evidenceText returns a task's evidence for models, one line per piece.
func evidenceText(list []tasks.Evidence) string {
	var b strings.Builder
	for _, e := range list {
		b.WriteString("\nEvidence: " + texts.Defuse(texts.Unbroken(e.Text)))
		if e.File != "" {
			b.WriteString(" (" + e.File + ")")
		}
	}
	return b.String()
}

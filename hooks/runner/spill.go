package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/hooks/texts"
)

// Bounds on one text that a hook gives to the model or to people, in characters.
const (
	maxText     = 10_000 // a longer text goes to a file
	previewText = 2000   // how much of it is shown
)

// spill writes texts of a verdict that are too long to files, and replaces each by a
// preview with the file's path (HOOKS.md section 5, rule 8).
func (r *run) spill(v *Verdict) {
	for i := range v.Contexts {
		v.Contexts[i].Text = r.shorten(v, v.Contexts[i].Text)
	}
	v.Message = r.shorten(v, v.Message)
}

// shorten returns text, or its replacement if it is too long. If the file cannot be
// written, the preview says so: that must not fail the turn.
func (r *run) shorten(v *Verdict, text string) string {
	// The limit is in characters; a text with fewer bytes has fewer characters, too.
	if len(text) <= maxText || utf8.RuneCountInString(text) <= maxText {
		return text
	}
	place := "nowhere"
	path, err := r.keep(text)
	if err == nil {
		place = path
	} else {
		v.Warn("a text of %d bytes was cut: %v", len(text), err)
	}
	return fmt.Sprintf("<persisted-output>\nOutput too large (%.1fKB). Full output saved to: %s\n\n"+
		"Preview (first 2KB):\n%s\n...\n</persisted-output>", float64(len(text))/1024, place,
		texts.Runes(text, previewText))
}

// keep writes text to a new file of the spill folder and returns its path.
func (r *run) keep(text string) (string, error) {
	if r.opts.SpillDir == "" {
		return "", fmt.Errorf("no folder is set for long texts")
	}
	if err := os.MkdirAll(r.opts.SpillDir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(r.opts.SpillDir, "hook-"+uuid.NewString()+"-stdout.txt")
	return path, os.WriteFile(path, []byte(text), 0o600)
}

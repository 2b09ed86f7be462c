package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/teammate/script"
	"github.com/coveyteam/covey/teammate/transcript"
)

// The versions of what a member thinks with and of what it leaves.
const (
	ScriptFormat     = script.Format
	TranscriptFormat = transcript.Format
)

// ErrNewerTranscript is wrapped by the error of OpenTranscript if a newer covey has written
// the transcript.
var ErrNewerTranscript = transcript.ErrNewer

// OpenTranscript opens a member's transcript. A damaged one does not stop the others: its
// member gets an empty transcript, so that it can be shown, and does not begin. Its past
// work is unknown, so a person has to decide whether it starts over.
//
// unfit is why the member does not begin; empty: it begins.
func OpenTranscript(place state.Place, m *lives.Member) (
	file *transcript.File, history transcript.History, unfit string, err error,
) {
	file, history, err = transcript.Open(place.Transcript(m.Name, m.Session.Session))
	if !errors.Is(err, transcript.ErrDamaged) {
		return file, history, "", err
	}
	unfit = fmt.Sprintf("it cannot begin: %v; then run covey up again", err)
	instead := filepath.Join(place.Scratch(), m.Name+".no-transcript.jsonl")
	if err := os.Remove(instead); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, transcript.History{}, "", fmt.Errorf("replace a damaged transcript: %w", err)
	}
	file, history, err = transcript.Open(instead)
	return file, history, unfit, err
}

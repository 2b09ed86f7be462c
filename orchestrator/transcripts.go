package orchestrator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/teammate/transcript"
)

// openTranscript opens a member's transcript. A damaged one does not stop the others: its
// member gets an empty transcript, so that it can be shown, and does not begin. Its past
// work is unknown, so a person has to decide whether it starts over.
func (h hiring) openTranscript(s *crew.Seat) (*transcript.File, transcript.History, error) {
	path := h.o.place.Transcript(s.Member.Name, s.Member.Session.Session)
	file, history, err := transcript.Open(path)
	if !errors.Is(err, transcript.ErrDamaged) {
		return file, history, err
	}
	s.SetUnfit(fmt.Sprintf("it cannot begin: %v; then run covey up again", err))
	instead := filepath.Join(h.o.place.Scratch(), s.Member.Name+".no-transcript.jsonl")
	if err := os.Remove(instead); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, transcript.History{}, err
	}
	return transcript.Open(instead)
}

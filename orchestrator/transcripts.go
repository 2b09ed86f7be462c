package orchestrator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/teammate/transcript"
)

// openTranscript opens a member's transcript. One that is damaged is no reason for the
// others to stay away: its member gets an empty one in its place, so that it can be shown,
// and does not begin. What the damaged file tells of its work cannot be known, so nobody
// but a person can say whether the member may begin anew.
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

package transcript

import (
	"fmt"
	"os"

	"github.com/coveyteam/covey/teammate/agent"
)

// Read reads the conversation of a transcript that a member may be
// writing to: the messages that are whole, oldest first.
func Read(path string) ([]agent.Message, error) {
	h, err := ReadHistory(path)
	return h.Messages, err
}

// ReadHistory reads what a transcript holds, that a member may be writing to, and
// leaves it as it is. Its error wraps fs.ErrNotExist where there is none.
func ReadHistory(path string) (History, error) {
	file, err := os.Open(path)
	if err != nil {
		return History{}, fmt.Errorf("transcript: %w", err)
	}
	defer file.Close()
	past, err := readTranscript(file)
	if err != nil {
		return History{}, fmt.Errorf("transcript %s: %w", path, err)
	}
	return past.history(), nil
}

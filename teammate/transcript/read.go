package transcript

import (
	"fmt"
	"os"

	"github.com/coveyteam/covey/teammate/agent"
)

// Read returns the complete messages of a transcript, oldest first. A member may be
// writing to it.
func Read(path string) ([]agent.Message, error) {
	h, err := ReadHistory(path)
	return h.Messages, err
}

// ReadHistory reads the history of a transcript without changing it. A member may be
// writing to it. The error wraps fs.ErrNotExist if there is none.
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

package teammate

import (
	"fmt"
	"os"
)

// ReadTranscript reads the conversation of a transcript that a member may be
// writing to: the messages that are whole, oldest first.
func ReadTranscript(path string) ([]Message, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	defer file.Close()
	past, err := readTranscript(file)
	if err != nil {
		return nil, fmt.Errorf("transcript %s: %w", path, err)
	}
	return past.history().Messages, nil
}

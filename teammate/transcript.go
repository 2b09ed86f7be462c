package teammate

// Transcript is one member's conversation on disk: a JSONL file that hook
// scripts read at transcript_path (DESIGN 7) and that a member resumes from.
type Transcript struct {
	path string
}

// OpenTranscript opens the transcript at path for appending, or creates it
// with its folders, and reads what it holds. A torn last line is cut off.
func OpenTranscript(path string) (*Transcript, History, error) {
	return &Transcript{path: path}, History{}, nil
}

// Path is where the transcript lies.
func (t *Transcript) Path() string { return t.path }

// Close closes the file. Closing twice is fine.
func (t *Transcript) Close() error { return nil }

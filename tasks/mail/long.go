package mail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/coveyteam/covey/hooks/texts"
)

// A message is read in one piece in the middle of a conversation. A longer text goes
// to a file, and the receiver gets its start and the path of the file.
const (
	MaxText  = 32 << 10 // bytes of a message
	HeadText = 4 << 10  // bytes of a longer text that the message shows
)

// ReportSummary is the summary of a team_report message.
const ReportSummary = "report"

// Summary returns the summary of a text that has none: its first line, shortened.
func Summary(text string) string { return texts.Short(texts.FirstLine(text), MaxSummary) }

// Folder holds the files of long messages: a folder for each receiver, below the
// team's state, which only covey and that member read. The files stay as long as the
// team's state, because transcripts refer to them.
type Folder string

// Of returns the folder of one receiver.
func (f Folder) Of(member string) string { return filepath.Join(string(f), member) }

// Keep writes a long text for one receiver and returns what the message says instead.
// The file is named after its content, so that a call that is repeated after a crash
// leaves one file. If the file cannot be written, Keep fails and the message is not
// sent.
func (f Folder) Keep(to, text string) (string, error) {
	path := filepath.Join(f.Of(to), texts.Digest(text)[:16]+".txt")
	if err := f.write(path, text); err != nil {
		return "", fmt.Errorf("a message of %d bytes goes to a file, which cannot be written: %w", len(text), err)
	}
	return fmt.Sprintf("%s\n\n[This is the start of a message of %d bytes. All of it is in the file %s: read it there.]",
		Head(text, HeadText), len(text), path), nil
}

// write creates the file atomically, and syncs it before the message is sent.
func (f Folder) write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".letter-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // it is already renamed on success
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// Head returns at most limit bytes of the start of a text, up to the end of a line if
// that drops less than half.
func Head(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	text = text[:limit]
	if i := strings.LastIndexByte(text, '\n'); i > limit/2 {
		text = text[:i]
	}
	return text
}

// Make creates the folder of a member, so that its path can be used, and returns it.
// It returns "" if f is empty.
func (f Folder) Make(member string) (string, error) {
	if f == "" {
		return "", nil
	}
	err := os.MkdirAll(f.Of(member), 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("folder for long messages: %w", err)
	}
	return f.Of(member), nil
}

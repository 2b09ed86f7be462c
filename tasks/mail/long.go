package mail

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/coveyteam/covey/hooks/wording"
)

// A message is read in one piece in the middle of a conversation. The text of a longer
// one goes to a file, and its receiver gets the start and a pointer to that.
const (
	MaxText  = 32 << 10 // bytes of a message
	HeadText = 4 << 10  // bytes of a longer one that the message shows
)

// maxSummary is how much of a summary is shown, in characters (TEAMS.md section 2).
const maxSummary = 200

// ReportSummary is the summary of a report with team_report.
const ReportSummary = "report"

// Summary is what a text without a summary is known by: its first line, shortened.
func Summary(text string) string { return wording.Short(wording.FirstLine(text), maxSummary) }

// Folder holds the files of long messages: a folder for each receiver, below the team's
// state, where only covey and that member look. They stay as long as the team's state,
// because transcripts point to them.
type Folder string

// Of is the folder of one receiver.
func (f Folder) Of(member string) string { return filepath.Join(string(f), member) }

// Keep writes a long text for one receiver and returns what the message says
// instead. The file's name is that of its content, so that a call that is
// repeated after a crash leaves one file. It fails when the file cannot be
// written; the message is not sent then.
func (f Folder) Keep(to, text string) (string, error) {
	sum := sha256.Sum256([]byte(text))
	path := filepath.Join(f.Of(to), hex.EncodeToString(sum[:8])+".txt")
	if err := f.write(path, text); err != nil {
		return "", fmt.Errorf("a message of %d bytes goes to a file, which cannot be written: %w", len(text), err)
	}
	return fmt.Sprintf("%s\n\n[This is the start of a message of %d bytes. All of it is in the file %s: read it there.]",
		Head(text, HeadText), len(text), path), nil
}

// write makes the file whole or not at all, and on disk before the message is.
func (f Folder) write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".letter-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // gone already when all went well
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// Head is the start of a text, at most limit bytes of it, at the end of a line where that
// loses little.
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

// Make makes the folder of a member, so that its path can be given out, and returns it;
// "" if f is empty.
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

package orchestrator

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
)

// A message is read in one piece, in the middle of a conversation that it must
// not drown: what is longer than this goes to a file, and a pointer with its
// head to the receiver.
const (
	maxBody  = 32 << 10 // bytes
	headBody = 4 << 10  // bytes of it that the message shows
)

// letters are the files of long messages: a folder for each receiver, below the
// team's state, where nobody but covey and that member looks. They stay as long
// as the team's state does, because transcripts point to them.
type letters string

// of is the folder of one receiver.
func (l letters) of(member string) string { return filepath.Join(string(l), member) }

// keep writes a long text for one receiver and gives what the message is to say
// instead. The file's name is that of its content, so that a call that is
// repeated after a crash leaves one file. It fails when the file cannot be
// written; the message is not sent then.
func (l letters) keep(to, text string) (string, error) {
	sum := sha256.Sum256([]byte(text))
	path := filepath.Join(l.of(to), hex.EncodeToString(sum[:8])+".txt")
	if err := l.write(path, text); err != nil {
		return "", fmt.Errorf("a message of %d bytes goes to a file, which cannot be written: %w", len(text), err)
	}
	return fmt.Sprintf("%s\n\n[This is the start of a message of %d bytes. All of it is in the file %s: read it there.]",
		head(text, headBody), len(text), path), nil
}

// write makes the file whole or not at all, and on disk before the message is.
func (l letters) write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".letter-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// head is the start of a text, at the end of a line where that loses little.
func head(text string, limit int) string {
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

// folder makes the folder of a member, so that its path can be given out, and
// gives it; "" for letters without a place.
func (l letters) folder(member string) (string, error) {
	if l == "" {
		return "", nil
	}
	err := os.MkdirAll(l.of(member), 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("folder for long messages: %w", err)
	}
	return l.of(member), nil
}

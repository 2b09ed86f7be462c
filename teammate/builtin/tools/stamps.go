package tools

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
)

// stamp is the state of a file when the agent last read or wrote it.
type stamp struct {
	Path string    `json:"path"`
	Size int64     `json:"size"`
	Time time.Time `json:"time"`
}

var (
	// errUnread is the error of a change to a file that the agent has not read.
	errUnread = errors.New("is there but has not been read; Read it first, so that nothing is lost unseen")
	// errChanged is the error of a change to a file that has changed since the agent read it.
	errChanged = errors.New("has been changed since it was last read, perhaps by somebody else; Read " +
		"it again first")
)

// stamps remembers the files that the agent has read, so that it does not overwrite files
// that it does not know or that others have changed since. They are stored in a file,
// because a resumed agent still knows what it has read.
type stamps struct {
	// file holds JSON lines and is only appended to; the last line of a path is valid.
	file string
	// known is nil until the file has been read.
	known map[string]stamp
}

// load reads the stamps of earlier runs, once. It drops lines that it cannot read; the
// agent must then read those files again.
func (s *stamps) load() {
	if s.known != nil {
		return
	}
	s.known = map[string]stamp{}
	f, err := os.Open(s.file)
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var st stamp
		if json.Unmarshal(lines.Bytes(), &st) == nil {
			s.known[st.Path] = st
		}
	}
}

// record records that the agent knows path as info describes it. A failure to store the record
// is ignored, because the call itself has succeeded.
func (s *stamps) record(path string, info fs.FileInfo) {
	s.load()
	// Size and time show all changes except deliberately hidden ones, without
	// reading the file again.
	st := stamp{path, info.Size(), info.ModTime().UTC()}
	if old, ok := s.known[path]; ok && old == st {
		return
	}
	s.known[path] = st
	if os.MkdirAll(filepath.Dir(s.file), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(s.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(notation.Encode(st), '\n'))
	_ = f.Close()
}

// check refuses a change to path, whose state is info, unless the agent knows that state.
func (s *stamps) check(path string, info fs.FileInfo) error {
	s.load()
	st, ok := s.known[path]
	switch {
	case !ok:
		return errUnread
	case st.Size != info.Size() || !st.Time.Equal(info.ModTime()):
		return errChanged
	}
	return nil
}

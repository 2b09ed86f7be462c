package tools

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"sync"

	"github.com/coveyteam/covey/hooks/texts"
)

// stamp is the content of a file when the agent last read or wrote it.
type stamp struct {
	Path string `json:"path"`
	// Sum is a digest and not the time of the last change: a file system may give two
	// quick changes the same time, and a checkout or a formatter may touch a file and
	// leave its content as it was.
	Sum []byte `json:"sum"`
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
	mu   sync.Mutex // guards known
	// known is nil until the file has been read.
	known map[string][]byte
}

// load reads the stamps of earlier runs, once. It drops lines that it cannot read; the
// agent must then read those files again. The caller holds mu.
func (s *stamps) load() {
	if s.known != nil {
		return
	}
	s.known = map[string][]byte{}
	f, err := os.Open(s.file)
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var st stamp
		if json.Unmarshal(lines.Bytes(), &st) == nil {
			s.known[st.Path] = st.Sum
		}
	}
}

// record records that the agent knows path with the content of that sum. A failure to store
// the record is ignored, because the call itself has succeeded.
func (s *stamps) record(path string, sum []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	if old, ok := s.known[path]; ok && bytes.Equal(old, sum) {
		return
	}
	s.known[path] = sum
	_ = appendLine(s.file, string(texts.Encode(stamp{path, sum}))+"\n", false)
}

// of returns the sum of path's content as the agent knows it.
func (s *stamps) of(path string) (sum []byte, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	sum, known = s.known[path]
	return sum, known
}

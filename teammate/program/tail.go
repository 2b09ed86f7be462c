package program

import (
	"strings"
	"sync"
)

// Tail is a writer that keeps the end of what is written, for a program's stderr. It is safe for
// concurrent use. The zero value is ready to use.
type Tail struct {
	mu   sync.Mutex
	data []byte
}

// tailBytes is how many bytes a Tail keeps.
const tailBytes = 2000

// Write never fails.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, b[max(len(b)-tailBytes, 0):]...)
	t.data = append(t.data[:0], t.data[max(len(t.data)-tailBytes, 0):]...)
	return len(b), nil
}

// Text returns the kept text for an error message. It drops invalid UTF-8, because the cut may be in
// the middle of a character.
func (t *Tail) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.data), ""))
}

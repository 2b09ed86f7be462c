package program

import (
	"strings"
	"sync"
)

// Tail is a writer that keeps the end of what is written: of what a program
// says on its stderr, the last words matter. It is safe for concurrent use; the
// zero value is ready.
type Tail struct {
	mu   sync.Mutex
	data []byte
}

// tailBytes is how much a Tail keeps.
const tailBytes = 2000

// Write never fails.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, b[max(len(b)-tailBytes, 0):]...)
	t.data = append(t.data[:0], t.data[max(len(t.data)-tailBytes, 0):]...)
	return len(b), nil
}

// Text is what was kept, made fit for an error message: the cut may have gone
// through the middle of a character.
func (t *Tail) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.data), ""))
}

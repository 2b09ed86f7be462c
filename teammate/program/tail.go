package program

import (
	"strings"
	"sync"

	"github.com/coveyteam/covey/hooks/notation"
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

// debugLine matches lines that a program writes for its own developers: claude-agent-acp 0.101 dumps
// messages that it does not know.
var debugLine = notation.Pattern(`(?i)^\s*(unexpected case: [{\["]|\[?(debug|trace)\b)`)

// Text returns the kept text for an error message, without debugging output and without a beginning
// whose line was cut. It drops invalid UTF-8, because the cut may be in the middle of a character.
func (t *Tail) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.ToValidUTF8(string(t.data), "")
	if _, whole, ok := strings.Cut(text, "\n"); ok && whole != "" && len(t.data) == tailBytes {
		text = whole
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !debugLine().MatchString(line) {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

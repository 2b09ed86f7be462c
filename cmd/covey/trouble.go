package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
)

// troubleHandler tells a person of troubles that covey itself has: records of
// level warning and above, in one line. The log has everything; a person gets
// what should make them look there.
type troubleHandler struct {
	tell  func(string)
	attrs []slog.Attr
}

// Enabled takes warnings and errors.
func (h *troubleHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

// Handle tells of one record.
func (h *troubleHandler) Handle(_ context.Context, r slog.Record) error {
	parts := []string{r.Message}
	for _, a := range h.attrs {
		parts = append(parts, fmt.Sprintf("%s: %v", a.Key, a.Value))
	}
	r.Attrs(func(a slog.Attr) bool {
		parts = append(parts, fmt.Sprintf("%s: %v", a.Key, a.Value))
		return true
	})
	h.tell(strings.Join(parts, "; "))
	return nil
}

// WithAttrs adds attributes to all records.
func (h *troubleHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &troubleHandler{h.tell, append(append([]slog.Attr{}, h.attrs...), attrs...)}
}

// WithGroup leaves groups out: a line for people does without.
func (h *troubleHandler) WithGroup(string) slog.Handler { return h }

// lazyFile is a file that is made when something is written to it, so that a
// run without troubles leaves none. path is set before the first write. The
// folder that it is in is made by the orchestrator, after this was set up. It
// is safe for concurrent use.
type lazyFile struct {
	path string
	mu   sync.Mutex
	file *os.File
}

// Write appends to the file.
func (f *lazyFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		file, err := os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return 0, err
		}
		f.file = file
	}
	return f.file.Write(p)
}

// close closes the file if it was opened.
func (f *lazyFile) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

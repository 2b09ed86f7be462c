package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/coveyteam/covey/hooks/proc"
)

// warningHandler shows covey's own warnings and errors to the operator, one line
// each. The log has the details.
type warningHandler struct {
	tell  func(string)
	attrs []slog.Attr
}

// Enabled reports whether level is a warning or an error.
func (h *warningHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

// Handle shows one record.
func (h *warningHandler) Handle(_ context.Context, r slog.Record) error {
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
func (h *warningHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &warningHandler{h.tell, append(append([]slog.Attr{}, h.attrs...), attrs...)}
}

// WithGroup ignores groups, which a line for people does not need.
func (h *warningHandler) WithGroup(string) slog.Handler { return h }

// lazyFile is a file that is created by the first write, so that a run without
// warnings leaves none. path is set before the first write; the orchestrator creates
// its folder before that. It is safe for concurrent use.
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
		file, err := proc.OpenOwn(f.path, os.O_WRONLY|os.O_APPEND)
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

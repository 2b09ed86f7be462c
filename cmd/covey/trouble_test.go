package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestTroubleHandler tells warnings and errors, in one line with what they are
// about, and nothing below.
func TestTroubleHandler(t *testing.T) {
	var told []string
	log := slog.New(&warningHandler{tell: func(text string) { told = append(told, text) }})
	log.Info("nothing to see")
	log.Debug("nor here")
	log.Warn("slow disk", "path", "/x")
	log.With("team", "crew").WithGroup("store").Error("cannot write", "err", errors.New("no space"))
	want := []string{"slow disk; path: /x", "cannot write; team: crew; err: no space"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// TestLazyFile makes its file with the first write, private, and appends.
func TestLazyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "covey.log")
	unused := &lazyFile{path: path}
	if err := unused.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a run without troubles left a log")
	}
	for range 2 {
		f := &lazyFile{path: path}
		var writers sync.WaitGroup
		for range 10 {
			writers.Go(func() { slog.New(slog.NewJSONHandler(f, nil)).Error("trouble") })
		}
		writers.Wait()
		if err := f.close(); err != nil {
			t.Error(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Count(string(data), "\"msg\":\"trouble\"}\n") != 20 {
		t.Errorf("%v, %q", err, data)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
}

// TestLazyFileNowhere: a log that cannot be made fails its writer and nothing
// else.
func TestLazyFileNowhere(t *testing.T) {
	f := &lazyFile{path: filepath.Join(t.TempDir(), "missing", "covey.log")}
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("wrote to a folder that is not there")
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
}

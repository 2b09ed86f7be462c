package port

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The coordinator has a copy of the transcript of each member on a node, so that the member can go on
// elsewhere. The node reports what it has added when the member becomes idle or leaves.

// Lines are bytes of a transcript.
type Lines struct {
	At   int64  `json:"at"` // where they belong; of a SeatOrder: how many there are
	Data []byte `json:"data,omitempty"`
	Sum  []byte `json:"sum,omitempty"` // of a SeatOrder: the digest of the At bytes
}

// maxLines is how many bytes of a transcript one message has.
const maxLines = 4 << 20

// linesOf describes what is stored of a transcript.
func linesOf(path string) (Lines, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Lines{}, nil
	}
	if err != nil {
		return Lines{}, err
	}
	sum, err := sumOf(path, info.Size())
	return Lines{At: info.Size(), Sum: sum}, err
}

// sumOf returns the digest of the first bytes of a file; nil: it does not have so many.
func sumOf(path string, size int64) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, size))
	if err != nil || n < size {
		return nil, err
	}
	return sum.Sum(nil), nil
}

// readLines returns the next bytes of a transcript.
func readLines(path string, at int64) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, at, maxLines))
}

// write adds lines to what is stored of a transcript, and removes what was behind them. Lines behind a
// gap are dropped.
func (l Lines) write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && l.At <= info.Size() {
		if _, err = f.WriteAt(l.Data, l.At); err == nil {
			err = f.Truncate(l.At + int64(len(l.Data)))
		}
	}
	return errors.Join(err, f.Close())
}

// giveLines reports what the transcript has that the team does not have.
func (g *Guest) giveLines(ctx context.Context) error {
	for {
		g.mu.Lock()
		at := g.kept
		g.mu.Unlock()
		data, err := readLines(g.transcript, at)
		if err != nil || len(data) == 0 {
			return err
		}
		if err := g.Report(ctx, Report{Lines: &Lines{At: at, Data: data}}); err != nil {
			return err
		}
		g.mu.Lock()
		g.kept = at + int64(len(data))
		g.mu.Unlock()
	}
}

// hasLines reports whether the transcript begins with what the team has of it, or else lets all of it be
// reported.
func (g *Guest) hasLines(team Lines) (bool, error) {
	sum, err := sumOf(g.transcript, team.At)
	same := err == nil && bytes.Equal(sum, team.Sum) || team.At == 0
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kept = 0
	if same {
		g.kept = team.At
	}
	return same, err
}

// takeLines makes the transcript that of the team, unless it goes on where that ends. What the member did here before
// it went on elsewhere is kept beside it.
func (g *Guest) takeLines(ctx context.Context) error {
	same, err := g.hasLines(g.order.Lines)
	if err != nil || same {
		return err
	}
	part := g.transcript + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at := int64(0)
	for {
		out, err := g.ask(ctx, Ask{Lines: &at})
		if err != nil {
			return err
		}
		if len(out.Lines) == 0 {
			break
		}
		if err := (Lines{At: at, Data: out.Lines}).write(part); err != nil {
			return err
		}
		at += int64(len(out.Lines))
	}
	if err := os.Rename(g.transcript, g.transcript+".left"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	g.mu.Lock()
	g.kept = at
	g.mu.Unlock()
	return os.Rename(part, g.transcript)
}

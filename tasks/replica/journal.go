package replica

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/coveyteam/covey/tasks/store"
)

// Journal is the stream of the lines of a team's journal, as its coordinator sees it.
type Journal struct {
	chain *chain
	lines string // subject of the lines and of the marks of epochs
	beats string // subject of the signs of life

	// waiting are the lines that are not known to be stored. Those of restore come before those of
	// a File.
	waiting []*batch
}

// begin marks the epoch, after which no other coordinator can append a line.
func (j *Journal) begin(ctx context.Context) error {
	for ctx.Err() == nil {
		_, last, err := j.chain.stream.bounds(ctx)
		if err == nil {
			j.chain.last = last
			err = j.chain.append(&batch{list: []message{{subject: j.lines}}})
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrFenced): // by a line of the coordinator before
			j.chain.end = nil
		case errors.Is(err, store.ErrRefused):
			return err
		}
		j.chain.open = nil
		j.chain.pause(retryEvery)
	}
	return context.Cause(ctx)
}

// restore makes the file at path the copy of the stream. Lines that the stream has not stored stay
// only if nobody has appended others since; older ones than those of the stream stay.
func (j *Journal) restore(ctx context.Context, path string) error {
	var first, last uint64
	err := j.chain.again(ctx, func() (err error) {
		first, last, err = j.chain.stream.bounds(ctx)
		return err
	})
	if err != nil {
		return err
	}
	part := path + ".part"
	if err := store.Remove(part); err != nil {
		return err
	}
	out, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	w := bufio.NewWriterSize(out, 1<<20)
	merge := merger{out: w}
	err = follow(ctx, j.chain, first, last, true, func(m message) error {
		if m.subject != j.lines || len(m.data) == 0 {
			return nil
		}
		return merge.stored(path, m.data)
	})
	if err != nil {
		return err
	}
	if err := merge.rest(path, func(line []byte) { j.add(line) }); err != nil {
		return err
	}
	if err := errors.Join(w.Flush(), out.Sync()); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// merger writes the lines of a local journal and those of the stream in one order.
type merger struct {
	out  io.Writer
	last []byte // the last line of the stream; nil: it has none
}

// stored writes a line of the stream, and before the first of them the older ones of the file at path.
func (g *merger) stored(path string, line []byte) error {
	if g.last == nil {
		from := lineNumber(line)
		err := eachLine(path, func(local []byte) error {
			if n := lineNumber(local); n > 0 && n < from {
				_, err := g.out.Write(local)
				return err
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	g.last = bytes.Clone(line)
	_, err := g.out.Write(line)
	return err
}

// rest writes the lines of the file that follow the last one of the stream.
func (g *merger) rest(path string, unsent func([]byte)) error {
	follows := g.last == nil
	return eachLine(path, func(local []byte) error {
		if !follows {
			follows = bytes.Equal(local, g.last)
			return nil
		}
		unsent(local)
		_, err := g.out.Write(local)
		return err
	})
}

// lineNumber returns the number of a line of a journal; 0: it has none.
func lineNumber(line []byte) uint64 {
	var l struct{ Seq uint64 }
	_ = json.Unmarshal(line, &l) // a damaged line has no number
	return l.Seq
}

// eachLine calls each with the whole lines of a file, with their ends.
func eachLine(path string, each func([]byte) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for r := bufio.NewReaderSize(f, 1<<20); ; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = each(line)
		}
		if err != nil {
			return err
		}
	}
}

// add queues a line.
func (j *Journal) add(line []byte) {
	list := parts(j.lines, bytes.Clone(line))
	if n := len(j.waiting); n > 0 {
		if b := j.waiting[n-1]; !b.tried && len(b.list)+len(list) <= maxParts && b.bytes()+len(line) <= readBytes {
			b.list = append(b.list, list...)
			return
		}
	}
	j.waiting = append(j.waiting, &batch{list: list})
}

// bytes returns the length of the content.
func (b *batch) bytes() (n int) {
	for _, m := range b.list {
		n += len(m.data)
	}
	return n
}

// flush stores the queued lines.
func (j *Journal) flush() error {
	for len(j.waiting) > 0 {
		if err := j.chain.append(j.waiting[0]); err != nil {
			return err
		}
		j.waiting = j.waiting[1:]
	}
	return nil
}

// file is what a journal is written to.
type file interface {
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// File is the file of a journal whose lines are stored in the stream as well, when it is synced. One
// goroutine may use it at a time.
type File struct {
	file
	journal *Journal
}

// Wrap returns the file of the team's journal, whose lines are to be stored.
func (j *Journal) Wrap(f file) *File { return &File{file: f, journal: j} }

// WriteAt writes whole lines.
func (f *File) WriteAt(p []byte, at int64) (int, error) {
	n, err := f.file.WriteAt(p, at)
	if err == nil {
		for line := range bytes.Lines(p) {
			f.journal.add(line)
		}
	}
	return n, err
}

// Sync makes the lines durable, here and in the stream.
func (f *File) Sync() error {
	if err := f.file.Sync(); err != nil {
		return err
	}
	return f.journal.flush()
}

// Close stores the last lines and closes the file.
func (f *File) Close() error { return errors.Join(f.journal.flush(), f.file.Close()) }

// forget removes all lines.
func (j *Journal) forget(ctx context.Context) error {
	return j.chain.again(ctx, func() error { return j.chain.stream.purge(ctx, j.chain.last) })
}

package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coveyteam/covey/tasks/store"
)

// Epoch is the time of one coordinator. Its record, in the stream of the commits, is what makes it
// the coordinator.
type Epoch struct {
	Number     uint64    `json:"number"` // rises with each coordinator
	Holder     string    `json:"holder"` // identifies the coordinator's folder; empty: it has ended in order
	Host       string    `json:"host"`
	PID        int       `json:"pid"`
	Since      time.Time `json:"since"`
	Version    string    `json:"version"`    // of covey
	Format     int       `json:"format"`     // of the store
	Repository string    `json:"repository"` // identifies what the team works on; empty: unknown

	// Snapshots are the copies of the store to begin from, the newest first.
	Snapshots []Snapshot `json:"snapshots"`
	// Start is the message after which the commits of a store without a snapshot begin.
	Start uint64 `json:"start"`
	// Fresh means that the commits begin with this record, and that all before is forgotten.
	Fresh bool `json:"fresh,omitempty"`

	seq uint64 // of the record
}

// Snapshot is a copy of the store in the object store.
type Snapshot struct {
	Name  string      `json:"name"`
	After uint64      `json:"after"` // the message whose commit it has
	At    store.State `json:"at"`
}

// String describes who began the epoch, and when.
func (e Epoch) String() string {
	return fmt.Sprintf("%s, process %d, since %s", e.Host, e.PID, e.Since.Local().Format(time.DateTime))
}

// start returns the message after which the commits of the store begin.
func (e *Epoch) start() uint64 {
	if e.Fresh {
		return e.seq
	}
	return e.Start
}

// lastEpoch returns the last epoch that has begun; with the number 0 if none has.
func lastEpoch(ctx context.Context, s stream, subject string) (Epoch, error) {
	m, err := s.lastOf(ctx, subject)
	if errors.Is(err, errNone) {
		return Epoch{}, nil
	}
	if err != nil {
		return Epoch{}, err
	}
	var e Epoch
	if err := json.Unmarshal(m.data, &e); err != nil {
		return Epoch{}, fmt.Errorf("%w: the record of epoch %d: %w", store.ErrCorrupt, m.epoch, err)
	}
	e.seq = m.seq
	if e.Format > store.Format {
		return e, fmt.Errorf("%w: host %s runs the team with covey %s, whose store has format %d, and this covey knows up to %d; use a newer covey",
			store.ErrFormat, e.Host, e.Version, e.Format, store.Format)
	}
	return e, nil
}

// begin makes this process the coordinator. Candidates compete by the last record of an epoch alone,
// so that a coordinator that is busy cannot keep them out; its next record is refused, because the
// new epoch took a number. begin fails with ErrFenced if last is not the last
// record of an epoch any more.
func (l *Log) begin(ctx context.Context, last, next Epoch) (Epoch, error) {
	next.Number, next.Format = last.Number+1, store.Format
	if !next.Fresh {
		next.Snapshots, next.Start = last.Snapshots, last.start()
	}
	data, err := json.Marshal(next)
	if err != nil {
		return Epoch{}, err
	}
	m := message{subject: l.epochs, epoch: next.Number, data: data}
	for ctx.Err() == nil {
		if next.seq, err = l.chain.stream.compete(ctx, m, last.seq); err == nil {
			break
		}
		// An earlier try may have been stored without an answer.
		now, failed := lastEpoch(ctx, l.chain.stream, l.epochs)
		if failed == nil && now.Number == next.Number && now.Holder == next.Holder && now.Since.Equal(next.Since) {
			next.seq, err = now.seq, nil
			break
		}
		if failed == nil && now.seq != last.seq {
			return Epoch{}, ErrFenced // also by the record of a snapshot or of an end in order
		}
		l.chain.pause(retryEvery)
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return Epoch{}, fmt.Errorf("begin epoch %d: %w", next.Number, err)
	}
	// What this process has met as an earlier candidate, which another one deposed, is over.
	l.chain.epoch, l.chain.last, l.chain.open, l.chain.end = next.Number, next.seq, nil, nil
	return next, nil
}

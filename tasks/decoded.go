package tasks

import (
	"fmt"
	"hash/maphash"
	"sync/atomic"
)

// Whoever plans, draws or counts reads all tasks, and most of the time went into their JSON,
// which hardly changes between two reads. So the list of decoded records that the last read
// of all tasks made is kept for the next one. A kept record counts only where the stored
// bytes are the same as then: nobody has to tell the list of a change.

// maxDecoded bounds the stored bytes of the records that are kept.
const maxDecoded = 16 << 20

// decodedTasks keeps the decoded records of the last read of all tasks.
type decodedTasks struct {
	seed maphash.Seed
	last atomic.Pointer[[]decodedTask] // in the order of numbers
	made atomic.Int64                  // records decoded so far, for tests
}

// decodedTask is one record and the hash of what it was decoded from. Nothing in rec is
// changed any more, so any number of readers may have it.
type decodedTask struct {
	number uint64
	sum    uint64
	rec    *taskRecord
}

func newDecodedTasks() *decodedTasks { return &decodedTasks{seed: maphash.MakeSeed()} }

// decodedPass is one read of all tasks, in the order of their numbers.
type decodedPass struct {
	from *decodedTasks
	old  []decodedTask // of the last read; what the pass has gone by is cut off
	now  []decodedTask
	size int // bytes of what is in now, as stored
}

// pass begins a read of all tasks.
func (d *decodedTasks) pass() *decodedPass {
	p := &decodedPass{from: d}
	if last := d.last.Load(); last != nil {
		p.old = *last
		p.now = make([]decodedTask, 0, len(p.old))
	}
	return p
}

// record gives the record of the task with that number, of which stored are the bytes. The
// caller must not change it.
func (p *decodedPass) record(number uint64, stored []byte) (*taskRecord, error) {
	sum := maphash.Bytes(p.from.seed, stored)
	for len(p.old) > 0 && p.old[0].number < number {
		p.old = p.old[1:]
	}
	var rec *taskRecord
	if len(p.old) > 0 && p.old[0].number == number && p.old[0].sum == sum {
		rec = p.old[0].rec
	} else {
		var err error
		if rec, err = decodeTask(fmt.Sprintf("task %d", number), stored); err != nil {
			return nil, err
		}
		p.from.made.Add(1)
	}
	if p.size += len(stored); p.size <= maxDecoded {
		p.now = append(p.now, decodedTask{number, sum, rec})
	}
	return rec, nil
}

// end keeps what the pass has seen. Of two passes at once the one that ends last counts.
func (p *decodedPass) end() { p.from.last.Store(&p.now) }

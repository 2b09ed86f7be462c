package tasks

import (
	"fmt"
	"hash/maphash"
	"sync/atomic"
)

// Reading all tasks spent most of its time on decoding JSON that rarely changes
// between two reads. So the records that the last full read decoded are kept for the
// next one. A kept record is used only if the stored bytes are still the same, so
// changes need not invalidate anything.

// maxDecoded bounds the stored bytes of the records that are kept.
const maxDecoded = 16 << 20

// decodedTasks keeps the decoded records of the last read of all tasks.
type decodedTasks struct {
	seed maphash.Seed
	last atomic.Pointer[[]decodedTask] // in the order of numbers
	made atomic.Int64                  // records decoded so far, for tests
}

// decodedTask is one record and the hash of the bytes that it was decoded from. rec
// is immutable, so any number of readers may share it.
type decodedTask struct {
	number uint64
	sum    uint64
	rec    *taskRecord
}

func newDecodedTasks() *decodedTasks { return &decodedTasks{seed: maphash.MakeSeed()} }

// decodedPass is one read of all tasks, in the order of their numbers.
type decodedPass struct {
	from *decodedTasks
	old  []decodedTask // of the last read; shrinks from the front as the pass advances
	now  []decodedTask
	size int // bytes of what is in now, as stored
}

// pass starts a read of all tasks.
func (d *decodedTasks) pass() *decodedPass {
	p := &decodedPass{from: d}
	if last := d.last.Load(); last != nil {
		p.old = *last
		p.now = make([]decodedTask, 0, len(p.old))
	}
	return p
}

// record returns the record of the task with the given number and stored bytes. The
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

// end keeps the records of the pass for the next one. If two passes overlap, the last
// to end wins.
func (p *decodedPass) end() { p.from.last.Store(&p.now) }

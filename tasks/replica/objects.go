package replica

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/coveyteam/covey/tasks/store"
)

// objectWait bounds how long an object that makes no progress is tried.
const objectWait = time.Minute

// jetObjects is an object store of JetStream. Objects are read without a consumer, for the reason
// that readBatch has.
type jetObjects struct {
	jetstream.ObjectStore
	stream *jetStream // what the objects are stored in
	bucket string

	putting sync.RWMutex // read while an object is put
	mu      sync.Mutex
	whole   map[string]bool // ids of the objects that this process has stored
}

func (o *jetObjects) put(name string, content io.Reader) error {
	seeker, again := content.(io.Seeker)
	for begun := time.Now(); ; time.Sleep(retryEvery) {
		err := o.putOnce(name, content)
		if err != nil {
			o.tidy()
		}
		if err == nil || !again || time.Since(begun) > objectWait || errors.Is(publishError(err), store.ErrRefused) {
			return err
		}
		if _, err := seeker.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
}

func (o *jetObjects) putOnce(name string, content io.Reader) error {
	o.putting.RLock()
	defer o.putting.RUnlock()
	ctx, cancel := context.WithTimeout(context.Background(), objectWait)
	defer cancel()
	info, err := o.Put(ctx, jetstream.ObjectMeta{Name: name}, content)
	if err == nil {
		o.mu.Lock()
		o.whole[info.NUID] = true
		o.mu.Unlock()
	}
	return err
}

// tidy removes what puts of this process have left that failed, once the servers answer: each try would
// leave another copy, until their disks are full.
func (o *jetObjects) tidy() {
	o.putting.Lock()
	defer o.putting.Unlock()
	const random = 12 // characters of an id that are those of the process, of inboxes and of objects
	mine := strings.TrimPrefix(nats.NewInbox(), nats.InboxPrefix)[:random]
	begin := "$O." + o.bucket + ".C."
	for begun := time.Now(); time.Since(begun) < objectWait; time.Sleep(retryEvery) {
		ctx, cancel := context.WithTimeout(context.Background(), requestWait)
		info, err := o.stream.Info(ctx, jetstream.WithSubjectFilter(begin+">"))
		if err == nil {
			for subject := range info.State.Subjects {
				id := strings.TrimPrefix(subject, begin)
				o.mu.Lock()
				whole := o.whole[id]
				o.mu.Unlock()
				if err == nil && !whole && strings.HasPrefix(id, mine) {
					err = o.stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
				}
			}
		}
		cancel()
		if err == nil {
			return
		}
	}
}

func (o *jetObjects) get(name string, to io.Writer) error {
	info, err := o.info(name)
	if err != nil {
		return fmt.Errorf("object %s: %w", name, err)
	}
	subject := fmt.Sprintf("$O.%s.C.%s", o.bucket, info.NUID)
	sum, size, next := sha256.New(), uint64(0), uint64(1)
	to = io.MultiWriter(to, sum)
	for begun := time.Now(); size < info.Size; {
		before, wrong := size, error(nil)
		err := readBatch(context.Background(), o.stream.js, o.stream.name, next, func(m message) error {
			_, wrong = to.Write(m.data)
			size, next = size+uint64(len(m.data)), m.seq+1
			return wrong
		}, jetstreamext.GetBatchSubject(subject))
		switch {
		case wrong != nil:
			return wrong
		case size > before:
			begun = time.Now()
		case time.Since(begun) > objectWait:
			return fmt.Errorf("object %s: %d of %d bytes: %w", name, size, info.Size, errors.Join(ErrUnknown, err))
		default:
			time.Sleep(retryEvery)
		}
	}
	if have := "SHA-256=" + base64.URLEncoding.EncodeToString(sum.Sum(nil)); size != info.Size || have != info.Digest {
		return fmt.Errorf("%w: object %s is not what was stored", store.ErrCorrupt, name)
	}
	return nil
}

// info returns the description of an object as the leader has it.
func (o *jetObjects) info(name string) (info jetstream.ObjectInfo, err error) {
	subject := fmt.Sprintf("$O.%s.M.%s", o.bucket, base64.URLEncoding.EncodeToString([]byte(name)))
	var m message
	for begun := time.Now(); ; time.Sleep(retryEvery) {
		m, err = o.stream.lastOf(context.Background(), subject)
		if err == nil || errors.Is(err, errNone) || time.Since(begun) > objectWait {
			break
		}
	}
	if err == nil {
		err = json.Unmarshal(m.data, &info)
	}
	if err == nil && info.Deleted {
		err = errNone
	}
	return info, err
}

func (o *jetObjects) drop(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestWait)
	defer cancel()
	return o.Delete(ctx, name)
}

func (o *jetObjects) names() (names []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestWait)
	defer cancel()
	list, err := o.List(ctx)
	for _, info := range list {
		names = append(names, info.Name)
	}
	return names, err
}

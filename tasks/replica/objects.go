package replica

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

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
}

func (o *jetObjects) put(name string, content io.Reader) error {
	seeker, again := content.(io.Seeker)
	for begun := time.Now(); ; time.Sleep(retryEvery) {
		ctx, cancel := context.WithTimeout(context.Background(), objectWait)
		_, err := o.Put(ctx, jetstream.ObjectMeta{Name: name}, content)
		cancel()
		if err == nil || !again || time.Since(begun) > objectWait || errors.Is(publishError(err), store.ErrRefused) {
			return err
		}
		if _, err := seeker.Seek(0, io.SeekStart); err != nil {
			return err
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

package replica

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/coveyteam/covey/tasks/store"
)

// objectWait bounds how long an object that makes no progress is tried.
const objectWait = time.Minute

// jetObjects is an object store of JetStream. The subject of an object's parts follows from its name, so
// that those of one which was never finished are found, and each part is sent until it is stored, once.
// The servers know an id for two minutes, longer than objectWait, also of what was removed meanwhile; so no
// name may be used again. Objects are read without a consumer, for the reason that readBatch has.
type jetObjects struct {
	*jetStream // what the objects are stored in
	bucket     string
}

// partsOf returns the subject of an object's parts.
func (o *jetObjects) partsOf(name string) string {
	return "$O." + o.bucket + ".C." + objectID(name)
}

// infoOf returns the subject of an object's description.
func (o *jetObjects) infoOf(name string) string {
	return "$O." + o.bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}

// objectID returns the id of an object, which is part of subjects.
func objectID(name string) string { return strings.ReplaceAll(name, "/", ".") }

func (o *jetObjects) put(name string, content io.Reader) error {
	err := o.putParts(name, content)
	if err != nil {
		_ = o.drop(name) // else the next sweep makes up for it
	}
	return err
}

func (o *jetObjects) putParts(name string, content io.Reader) error {
	info := jetstream.ObjectInfo{ObjectMeta: jetstream.ObjectMeta{Name: name}, Bucket: o.bucket, NUID: objectID(name)}
	sum := sha256.New()
	for part, more := make([]byte, maxPart), true; more; {
		n, err := io.ReadFull(content, part)
		more = err == nil
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if n > 0 {
			sum.Write(part[:n])
			info.Size, info.Chunks = info.Size+uint64(n), info.Chunks+1
			err = o.send(message{subject: o.partsOf(name), data: part[:n]}, fmt.Sprint(name, "/", info.Chunks))
			if err != nil {
				return err
			}
		}
	}
	info.Digest = digestOf(sum)
	data, err := json.Marshal(info)
	if err != nil {
		return err
	}
	return o.send(message{subject: o.infoOf(name), data: data, replace: true}, name)
}

// send stores a message. The servers know it by its id, so that it is stored once however often it is sent.
func (o *jetObjects) send(m message, id string) error {
	for begun := time.Now(); ; time.Sleep(retryEvery) {
		ctx, cancel := context.WithTimeout(context.Background(), requestWait)
		_, err := o.js.PublishMsg(ctx, m.encode(), jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0))
		cancel()
		o.noted(writes, err)
		if err == nil {
			return nil
		}
		if err = publishError(err); errors.Is(err, store.ErrRefused) || time.Since(begun) > objectWait {
			return err
		}
	}
}

// digestOf returns a digest in the form of object stores.
func digestOf(sum hash.Hash) string {
	return "SHA-256=" + base64.URLEncoding.EncodeToString(sum.Sum(nil))
}

func (o *jetObjects) get(name string, to io.Writer) error {
	info, err := o.info(name)
	if err != nil {
		return fmt.Errorf("object %s: %w", name, err)
	}
	sum, size, next := sha256.New(), uint64(0), uint64(1)
	to = io.MultiWriter(to, sum)
	for begun := time.Now(); size < info.Size; {
		before, wrong := size, error(nil)
		err := readBatch(context.Background(), o.js, o.name, next, func(m message) error {
			_, wrong = to.Write(m.data)
			size, next = size+uint64(len(m.data)), m.seq+1
			return wrong
		}, jetstreamext.GetBatchSubject(o.partsOf(name)))
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
	if size != info.Size || digestOf(sum) != info.Digest {
		return fmt.Errorf("%w: object %s is not what was stored", store.ErrCorrupt, name)
	}
	return nil
}

// info returns the description of an object as the leader has it.
func (o *jetObjects) info(name string) (info jetstream.ObjectInfo, err error) {
	var m message
	for begun := time.Now(); ; time.Sleep(retryEvery) {
		m, err = o.lastOf(context.Background(), o.infoOf(name))
		if err == nil || errors.Is(err, errNone) || time.Since(begun) > objectWait {
			break
		}
	}
	if err == nil {
		err = json.Unmarshal(m.data, &info)
	}
	return info, err
}

func (o *jetObjects) drop(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestWait)
	defer cancel()
	if err := o.Purge(ctx, jetstream.WithPurgeSubject(o.infoOf(name))); err != nil {
		return err
	}
	return o.Purge(ctx, jetstream.WithPurgeSubject(o.partsOf(name)))
}

func (o *jetObjects) names(prefix string) (names []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestWait)
	defer cancel()
	info, err := o.Info(ctx, jetstream.WithSubjectFilter(o.partsOf(prefix)+">"))
	if err != nil {
		return nil, err
	}
	for subject := range info.State.Subjects {
		names = append(names, prefix+strings.TrimPrefix(subject, o.partsOf(prefix)))
	}
	return names, nil
}

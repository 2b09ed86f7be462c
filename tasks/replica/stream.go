package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/coveyteam/covey/tasks/store"
)

// message is one message of a stream.
type message struct {
	subject string
	seq     uint64 // its number, from 1; set by the stream
	epoch   uint64 // of the coordinator that sent it
	more    bool   // the next message continues its content
	replace bool   // it replaces the earlier messages of its subject
	data    []byte
}

// stream is a stream as its servers show it. Its calls fail with errOther and errNone where they
// say so, with an error that wraps store.ErrRefused if nothing was stored and nothing will be, and
// with any other error if the outcome is unknown.
type stream interface {
	// publish stores messages, all or none, after the message with the number last, and
	// returns the number of the last of them. errOther: another message is the last one.
	publish(ctx context.Context, list []message, last uint64) (uint64, error)
	// compete stores a message if last is the number of the last one of its subject, and
	// returns its number. errOther: another one is.
	compete(ctx context.Context, m message, last uint64) (uint64, error)
	// get returns a message as the stream's leader has it. errNone: there is none.
	get(ctx context.Context, seq uint64) (message, error)
	// lastOf returns the last message of a subject as the leader has it. errNone: there is none.
	lastOf(ctx context.Context, subject string) (message, error)
	// bounds returns the numbers of the first and the last message as the leader has them.
	bounds(ctx context.Context) (first, last uint64, err error)
	// read calls each with messages from a number on, as many as one answer holds. Any server
	// may answer, and one that is behind has fewer of them.
	read(ctx context.Context, from uint64, each func(message) error) error
	// purge removes all messages before a number.
	purge(ctx context.Context, before uint64) error
}

var (
	errOther = errors.New("another message was stored first")
	errNone  = errors.New("no such message")
)

// The headers of messages.
const (
	headEpoch = "Covey-Epoch"
	headMore  = "Covey-More"
)

// Limits of requests to the servers. A request that meets an election is never answered, so each
// waits only shortly and is repeated.
const (
	requestWait = 3 * time.Second
	maxPart     = 700 << 10 // bytes of a message; the servers' limit is 1 MiB
	maxParts    = 1000      // messages of an atomic batch, which is the servers' limit
	readMost    = 500       // messages of an answer
	readBytes   = 4 << 20   // bytes of an answer
)

// jetStream is a stream of JetStream.
type jetStream struct {
	js     jetstream.JetStream
	server *server
	jetstream.Stream
	name string
}

// serverWait is how long a server may give no answer before another one is asked. An election is longer.
const serverWait = 6 * time.Second

// server is the server that a link is connected to. One that does not reach the others, or does not know
// yet which of them leads a stream, keeps its connections all the same.
type server struct {
	mu     sync.Mutex
	silent [2]time.Time // since when it has not answered requests of a kind; zero: it has
}

// The kinds of requests: a server may answer those of one kind only.
const (
	reads = iota
	writes
)

// noted notes the outcome of a request, and connects to another server if this one is silent.
func (s *jetStream) noted(kind int, err error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	switch now, silent := time.Now(), &s.server.silent[kind]; {
	case err == nil, errors.Is(err, errOther), errors.Is(err, errNone), errors.Is(err, store.ErrRefused):
		*silent = time.Time{}
	case silent.IsZero():
		*silent = now
	case now.Sub(*silent) > serverWait:
		s.server.silent = [2]time.Time{}
		_ = s.js.Conn().ForceReconnect() // it fails if the link is closed
	}
}

func (s *jetStream) publish(ctx context.Context, list []message, last uint64) (seq uint64, err error) {
	defer func() { s.noted(writes, err) }()
	ctx, cancel := context.WithTimeout(ctx, requestWait)
	defer cancel()
	if len(list) == 1 {
		ack, err := s.js.PublishMsg(ctx, list[0].encode(), jetstream.WithExpectLastSequence(last), jetstream.WithRetryAttempts(0))
		if err != nil {
			return 0, publishError(err)
		}
		return ack.Sequence, nil
	}
	batch, err := jetstreamext.NewBatchPublisher(s.js, jetstreamext.BatchFlowControl{AckFirst: true, AckTimeout: requestWait})
	if err != nil {
		return 0, err
	}
	opts := []jetstreamext.BatchMsgOpt{jetstreamext.WithBatchExpectLastSequence(last)} // the servers take it with the first one only
	for _, m := range list[:len(list)-1] {
		if err := batch.AddMsg(m.encode(), opts...); err != nil {
			return 0, publishError(err)
		}
		opts = nil
	}
	ack, err := batch.CommitMsg(ctx, list[len(list)-1].encode())
	if err != nil {
		return 0, publishError(err)
	}
	return ack.Sequence, nil
}

func (s *jetStream) compete(ctx context.Context, m message, last uint64) (seq uint64, err error) {
	defer func() { s.noted(writes, err) }()
	ctx, cancel := context.WithTimeout(ctx, requestWait)
	defer cancel()
	ack, err := s.js.PublishMsg(ctx, m.encode(), jetstream.WithExpectLastSequencePerSubject(last), jetstream.WithRetryAttempts(0))
	if err != nil {
		return 0, publishError(err)
	}
	return ack.Sequence, nil
}

func (s *jetStream) get(ctx context.Context, seq uint64) (message, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWait)
	defer cancel()
	return s.fromLeader(ctx, map[string]any{"seq": seq})
}

func (s *jetStream) lastOf(ctx context.Context, subject string) (message, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWait)
	defer cancel()
	return s.fromLeader(ctx, map[string]any{"last_by_subj": subject})
}

// fromLeader asks the stream's leader for a message. The client's own calls ask any server of a
// stream that allows direct access, and that one may be behind.
func (s *jetStream) fromLeader(ctx context.Context, what map[string]any) (_ message, err error) {
	defer func() { s.noted(reads, err) }()
	query, err := json.Marshal(what)
	if err != nil {
		return message{}, err
	}
	answer, err := s.js.Conn().RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+s.name, query)
	if err != nil {
		return message{}, err
	}
	var reply struct {
		Error   *jetstream.APIError
		Message *struct {
			Subject string
			Seq     uint64
			Hdrs    []byte
			Data    []byte
		}
	}
	if err := json.Unmarshal(answer.Data, &reply); err != nil {
		return message{}, err
	}
	switch {
	case reply.Error != nil && reply.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return message{}, errNone
	case reply.Error != nil:
		return message{}, reply.Error
	case reply.Message == nil:
		return message{}, jetstream.ErrInvalidJSAck
	}
	m := reply.Message
	var header nats.Header
	if len(m.Hdrs) > 0 {
		if header, err = nats.DecodeHeadersMsg(m.Hdrs); err != nil {
			return message{}, err
		}
	}
	return decode(m.Subject, m.Seq, header, m.Data), nil
}

func (s *jetStream) bounds(ctx context.Context) (first, last uint64, err error) {
	defer func() { s.noted(reads, err) }()
	ctx, cancel := context.WithTimeout(ctx, requestWait)
	defer cancel()
	info, err := s.Info(ctx)
	if err != nil {
		return 0, 0, err
	}
	return info.State.FirstSeq, info.State.LastSeq, nil
}

func (s *jetStream) read(ctx context.Context, from uint64, each func(message) error) error {
	return readBatch(ctx, s.js, s.name, from, each)
}

// readBatch is stream.read of a stream with that name. It needs no consumer: that would be placed
// on one server, which may be the one that died.
func readBatch(ctx context.Context, js jetstream.JetStream, name string, from uint64, each func(message) error,
	more ...jetstreamext.GetBatchOpt,
) error {
	ctx, cancel := context.WithTimeout(ctx, requestWait)
	defer cancel()
	opts := append(more, jetstreamext.GetBatchSeq(from), jetstreamext.GetBatchMaxBytes(readBytes))
	list, err := jetstreamext.GetBatch(ctx, js, name, readMost, opts...)
	if err != nil {
		return err
	}
	for raw, err := range list {
		if errors.Is(err, jetstreamext.ErrNoMessages) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(decode(raw.Subject, raw.Sequence, raw.Header, raw.Data)); err != nil {
			return err
		}
	}
	return nil
}

func (s *jetStream) purge(ctx context.Context, before uint64) error {
	ctx, cancel := context.WithTimeout(ctx, requestWait)
	defer cancel()
	return s.Purge(ctx, jetstream.WithPurgeSequence(before))
}

// encode returns the message as it is sent.
func (m message) encode() *nats.Msg {
	h := nats.Header{headEpoch: {strconv.FormatUint(m.epoch, 10)}}
	if m.more {
		h.Set(headMore, "1")
	}
	if m.replace {
		h.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	}
	return &nats.Msg{Subject: m.subject, Header: h, Data: m.data}
}

// decode returns a message as a stream has it.
func decode(subject string, seq uint64, header nats.Header, data []byte) message {
	epoch, _ := strconv.ParseUint(header.Get(headEpoch), 10, 64)
	return message{subject: subject, seq: seq, epoch: epoch, more: header.Get(headMore) != "", data: data}
}

// publishError classifies why messages were not acknowledged.
func publishError(err error) error {
	var api jetstream.JetStreamError
	if errors.Is(err, nats.ErrMaxPayload) {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	if !errors.As(err, &api) || api.APIError() == nil {
		return err
	}
	const (
		limitOfStream  = 10077
		limitOfAccount = 10002
		messageTooBig  = 10054
	)
	switch api.APIError().ErrorCode {
	case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
		return errOther
	case limitOfStream, limitOfAccount, messageTooBig, jetstreamext.JSErrCodeBatchPublishExceedsLimit:
		return fmt.Errorf("%w: %s", store.ErrRefused, api.APIError().Description)
	}
	return err
}

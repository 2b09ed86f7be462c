package nodes

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/nats-io/nats.go"
)

// Wire carries messages to those who listen. It may lose them. Those of one sender to one subject
// arrive in order.
type Wire interface {
	Publish(subject string, data []byte) error
	// Listen calls take with each message of a subject, one after another. In the subject, * stands
	// for any one part.
	Listen(subject string, take func(subject string, data []byte)) (stop func() error, err error)
}

// NATS is a Wire over servers of NATS.
type NATS struct{ Conn *nats.Conn }

// Publish implements Wire. What cannot be sent now is lost.
func (n NATS) Publish(subject string, data []byte) error { return n.Conn.Publish(subject, data) }

// Listen implements Wire. It returns after the servers know of it.
func (n NATS) Listen(subject string, take func(string, []byte)) (func() error, error) {
	s, err := n.Conn.Subscribe(subject, func(m *nats.Msg) { take(m.Subject, m.Data) })
	if err != nil {
		return nil, err
	}
	return s.Unsubscribe, n.Conn.Flush()
}

// A lane is what the last part of a subject says about its messages. Which of them a node's key may
// use, bus.ServerConfig knows, too.
type lane string

const (
	beats    lane = "beat"    // a node's signs of life
	requests lane = "request" // a node asks
	reports  lane = "report"  // a node reports
	answers  lane = "answer"  // a node's answers to orders
	orders   lane = "order"   // for a node
	inbox    lane = "inbox"   // for a node: answers to its requests, beats and reports
)

// Subject returns the subject of a lane of a node.
func Subject(team, node, lane string) string { return "covey." + team + ".node." + node + "." + lane }

// Format is the version of the messages. Both sides must have the same.
const Format = 2

// message is what is sent on each lane.
type message struct {
	Format  int             `json:"format"`
	Epoch   uint64          `json:"epoch,omitempty"`   // of the coordinator that sends it
	Process string          `json:"process,omitempty"` // of the node that sends it
	Number  uint64          `json:"number,omitempty"`  // of a request, an order or a report, from 1
	Low     uint64          `json:"low,omitempty"`     // calls below it are over
	Over    []uint64        `json:"over,omitempty"`    // other calls that are over since the last message
	Disk    string          `json:"disk,omitempty"`    // of the node, in beats and reports
	Member  string          `json:"member,omitempty"`
	Method  string          `json:"method,omitempty"` // what is asked or ordered, or what kind of answer it is
	Cancel  bool            `json:"cancel,omitempty"` // the sender no longer waits for the answer
	Body    json.RawMessage `json:"body,omitempty"`
	Fault   *fault          `json:"fault,omitempty"`
}

// fault is an error on its way to the other side.
type fault struct {
	Code string `json:"code,omitempty"`
	Text string `json:"text"`
}

// Limits of messages.
const (
	maxBody = 32 << 20  // bytes of a message
	maxPart = 700 << 10 // bytes of a packet; the servers' limit is 1 MiB
)

// ErrTooLarge means that a request, an order, a report or an answer is larger than 32 MiB.
var ErrTooLarge = errors.New("it is larger than 32 MiB")

// sender sends messages to one subject, in packets that the servers take. A packet begins with the
// number of its message, its place in it, and whether it is the last one.
type sender struct {
	wire    Wire
	subject string
	mu      sync.Mutex // so that packets of two messages do not mix
}

const headBytes = 7

func (s *sender) send(m message) error {
	m.Format = Format
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(data) > maxBody {
		return ErrTooLarge
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := rand.Uint32()
	for i := uint16(0); ; i++ {
		n := min(len(data), maxPart)
		packet := make([]byte, headBytes, headBytes+n)
		binary.BigEndian.PutUint32(packet, name)
		binary.BigEndian.PutUint16(packet[4:], i)
		if n == len(data) {
			packet[6] = 1
		}
		if err := s.wire.Publish(s.subject, append(packet, data[:n]...)); err != nil {
			return err
		}
		if data = data[n:]; len(data) == 0 {
			return nil
		}
	}
}

// receiver puts the packets of one sender together. The zero receiver is ready.
type receiver struct {
	name uint32
	next uint16
	data []byte
}

// add takes a packet, and returns its message once it is complete. What is incomplete or no message
// is dropped, because its sender repeats it.
func (r *receiver) add(packet []byte) (m message, ok bool) {
	if len(packet) < headBytes {
		return m, false
	}
	name, i := binary.BigEndian.Uint32(packet), binary.BigEndian.Uint16(packet[4:])
	if i == 0 {
		*r = receiver{name: name}
	}
	if name != r.name || i != r.next || len(r.data)+len(packet) > maxBody+maxPart {
		*r = receiver{}
		return m, false
	}
	r.next++
	r.data = append(r.data, packet[headBytes:]...)
	if packet[6] == 0 {
		return m, false
	}
	data := r.data
	*r = receiver{}
	return m, json.Unmarshal(data, &m) == nil
}

// Errors are the errors that the other side recognizes by errors.Is, each with the code that it has
// on its way. Both sides must have the same.
type Errors map[string]error

// fault returns an error as it is sent.
func (e Errors) fault(err error) *fault {
	f := &fault{Text: err.Error()}
	for code, known := range e {
		if errors.Is(err, known) {
			f.Code = code
		}
	}
	return f
}

// remote is an error of the other side.
type remote struct {
	text  string
	known error
}

func (r remote) Error() string { return r.text }
func (r remote) Unwrap() error { return r.known }

// error returns an error that was sent.
func (e Errors) error(f *fault) error { return remote{f.Text, e[f.Code]} }

// check refuses what can never be sent.
func check(body json.RawMessage) error {
	if len(body) > maxBody-maxPart { // what stands around it is small
		return ErrTooLarge
	}
	if len(body) > 0 && !json.Valid(body) {
		return errors.New("it is no JSON")
	}
	return nil
}

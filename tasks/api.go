package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

type Options struct {
	Now         func() time.Time
	BlobDir     string
	ReadOnly    bool
	LockTimeout time.Duration
	MaxUnread   int
}

type Store struct{}

func Open(path string, opts *Options) (*Store, error) { return nil, errors.ErrUnsupported }
func (s *Store) Close() error                         { return nil }
func (s *Store) Wake() <-chan struct{}                { return nil }
func (s *Store) Check(ctx context.Context) error      { return nil }

type New struct {
	Key         string
	Subject     string
	Description string
	ActiveForm  string
	Owner       string
	BlockedBy   []string
	Labels      []string
	Wants       Wants
	Metadata    map[string]json.RawMessage
}

func (s *Store) Create(ctx context.Context, a Actor, n New) (Task, error)      { return Task{}, nil }
func (s *Store) Confirm(ctx context.Context, a Actor, id string) (Task, error) { return Task{}, nil }
func (s *Store) Discard(ctx context.Context, a Actor, id, reason string) error { return nil }
func (s *Store) Add(ctx context.Context, a Actor, list []New) ([]Task, error)  { return nil, nil }
func (s *Store) Delete(ctx context.Context, a Actor, id string) (Task, error)  { return Task{}, nil }
func (s *Store) Release(ctx context.Context, a Actor, m, reason string) ([]Task, error) {
	return nil, nil
}
func (s *Store) Refuse(ctx context.Context, a Actor, id, reason string) error { return nil }

type Claim struct {
	Member string
	Max    int
}

func (s *Store) Claim(ctx context.Context, a Actor, id string, c Claim) (Task, error) {
	return Task{}, nil
}

type Patch struct {
	Version     uint64
	Epoch       uint64
	Status      *Status
	Subject     *string
	Description *string
	ActiveForm  *string
	Owner       *string

	AddBlocks    []string
	AddBlockedBy []string
	Metadata     map[string]json.RawMessage
}

func (s *Store) Update(ctx context.Context, a Actor, id string, p Patch) (Task, []string, error) {
	return Task{}, nil, nil
}
func (s *Store) Task(ctx context.Context, id string) (Task, error)             { return Task{}, nil }
func (s *Store) List(ctx context.Context) ([]Task, error)                      { return nil, nil }
func (s *Store) Ready(ctx context.Context) ([]Task, error)                     { return nil, nil }
func (s *Store) Owned(ctx context.Context, member string) ([]Task, error)      { return nil, nil }
func (s *Store) InProgress(ctx context.Context, member string) ([]Task, error) { return nil, nil }

// Snapshot is the team at one moment.
type Snapshot struct {
	Tasks   []Task
	Members []Member
	Unread  map[string]int
}

func (s *Store) Snapshot(ctx context.Context) (Snapshot, error) { return Snapshot{}, nil }

type Kind string

const (
	TextMessage    Kind = "text"
	TaskAssignment Kind = "task_assignment"
	Notice         Kind = "notice"
)

type Message struct {
	ID      string          `json:"id"`
	Seq     uint64          `json:"seq"`
	From    string          `json:"from"`
	To      string          `json:"to"`
	Kind    Kind            `json:"kind"`
	Text    string          `json:"text"`
	Summary string          `json:"summary"`
	Data    json.RawMessage `json:"data,omitempty"`
	Sent    time.Time       `json:"sent"`
}

// Assignment is the Data of a task_assignment message.
type Assignment struct {
	TaskID      string    `json:"taskId"`
	Subject     string    `json:"subject"`
	Description string    `json:"description,omitempty"`
	AssignedBy  string    `json:"assignedBy"`
	Timestamp   time.Time `json:"timestamp"`
	Ready       bool      `json:"ready"`
	WaitsFor    []string  `json:"waitsFor,omitempty"`
}

type Outgoing struct {
	To      []string
	Kind    Kind
	Text    string
	Summary string
	Data    json.RawMessage
}

func (s *Store) Send(ctx context.Context, a Actor, o Outgoing) ([]Message, error) { return nil, nil }
func (s *Store) Unread(ctx context.Context, member string) ([]Message, error)     { return nil, nil }
func (s *Store) Deliver(ctx context.Context, member string, ids []string) error   { return nil }

type Member struct {
	Name    string `json:"name"`
	Session string `json:"session"`
	Epoch   uint64 `json:"epoch"`
	Turn    int    `json:"turn"`
	State   string `json:"state"`
	Reason  string `json:"reason"`
}

func (s *Store) Attach(ctx context.Context, name string, newSession func() string) (Member, error) {
	return Member{}, nil
}
func (s *Store) SetMember(ctx context.Context, m Member) error                    { return nil }
func (s *Store) Members(ctx context.Context) ([]Member, error)                    { return nil, nil }
func (s *Store) Put(ctx context.Context, key string, value json.RawMessage) error { return nil }
func (s *Store) Value(ctx context.Context, key string) (json.RawMessage, bool, error) {
	return nil, false, nil
}

type Receipt struct {
	Op       string
	Task     *Task
	Tasks    []Task
	Updated  []string
	Messages []Message
	Error    string
}

func (s *Store) Receipt(ctx context.Context, member, callID string) (Receipt, bool, error) {
	return Receipt{}, false, nil
}

type Event struct {
	ID     uint64
	Time   time.Time
	Type   string
	Member string
	Data   json.RawMessage
}

func (s *Store) Events(ctx context.Context, after uint64, limit int) ([]Event, error) {
	return nil, nil
}
func (s *Store) Settle(ctx context.Context, upTo uint64) error { return nil }

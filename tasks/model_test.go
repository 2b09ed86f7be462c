package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"

	"pgregory.net/rapid"
)

// TestModel drives a store and a plain model of it with the same random calls
// and compares all that can be seen after each of them.
func TestModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		path := filepath.Join(dir, strconv.Itoa(round), "tasks.db")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			rt.Fatal(err)
		}
		m := &machine{T: t, path: path, model: newModel()}
		m.open()
		defer func() {
			if err := m.store.Close(); err != nil {
				rt.Error(err)
			}
		}()
		rt.Repeat(rapid.StateMachineActions(m))
	})
}

// modelTask is a task as the model sees it.
type modelTask struct {
	status    Status
	owner     string
	epoch     uint64
	version   uint64
	subject   string
	blockedBy []string
}

// model says what a store must do, with nothing but scans over maps.
type model struct {
	high     int
	tasks    map[string]*modelTask
	proposed map[string]*modelTask
	epochs   map[string]uint64
	mail     map[string][]string // kind and text; what tells of a loss ends in @ and its number
	lost     map[string]int      // member and task -> number of the loss; 0: told nobody yet
	losses   int
	events   []string
}

func newModel() *model {
	return &model{
		tasks: map[string]*modelTask{}, proposed: map[string]*modelTask{},
		epochs: map[string]uint64{}, mail: map[string][]string{}, lost: map[string]int{},
	}
}

func (m *model) waits(t *modelTask) bool {
	return slices.ContainsFunc(t.blockedBy, func(b string) bool { return m.tasks[b].status != Completed })
}

// reaches says whether to waits for from, directly or not.
func (m *model) reaches(from, to string) bool {
	if from == to {
		return true
	}
	return slices.ContainsFunc(m.tasks[to].blockedBy, func(b string) bool { return m.reaches(from, b) })
}

func (m *model) ids() []string {
	return slices.SortedFunc(maps.Keys(m.tasks), func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return x - y
	})
}

func (m *model) filter(keep func(*modelTask) bool) []string {
	return slices.DeleteFunc(m.ids(), func(id string) bool { return !keep(m.tasks[id]) })
}

func (m *model) event(op Op, id, by string) {
	m.events = append(m.events, fmt.Sprintf("%s %s by %s", op, id, by))
}

func (m *model) send(from, to string, kind mail.Kind, text string) {
	m.mail[to] = append(m.mail[to], string(kind)+" "+text)
	m.events = append(m.events, fmt.Sprintf("%s %s>%s", kind, from, to))
}

func (m *model) assigned(by, id string, ready bool) {
	t := m.tasks[id]
	if t.owner == "" || t.owner == by && !ready {
		return
	}
	word := "yours"
	if ready {
		word = "ready"
	}
	m.send(by, t.owner, mail.TaskAssignment, word+" "+id)
}

// lose notes that a member lost a task that it had in progress.
func (m *model) lose(by, member, id string, tell bool) {
	m.lost[member+" "+id] = 0
	if tell {
		m.tellLoss(by, member, id)
	}
}

func (m *model) tellLoss(by, member, id string) {
	m.losses++
	m.lost[member+" "+id] = m.losses
	m.send(by, member, mail.TaskLost, fmt.Sprintf("lost %s@%d", id, m.losses))
}

// fenced says whether a member must not speak of a task's status.
func (m *model) fenced(member, id string) bool {
	_, lost := m.lost[member+" "+id]
	return lost && m.tasks[id].owner != member
}

// dependents that wait for id, among other things.
func (m *model) waitingFor(id string) []string {
	return m.filter(func(t *modelTask) bool { return slices.Contains(t.blockedBy, id) && m.waits(t) })
}

// freed tells the owners of those among before that wait no more.
func (m *model) freed(by string, before []string) {
	for _, id := range before {
		if t := m.tasks[id]; t.status == Pending && !m.waits(t) {
			m.assigned(by, id, true)
		}
	}
}

// machine is the state machine: a store, its model, and random calls.
type machine struct {
	*testing.T
	path  string
	store *Store
	model *model
	calls int
}

var memberNames = []string{"ann", "bob", "cy"}

func (m *machine) open() {
	s, err := Open(m.path, nil)
	if err != nil {
		m.Fatal(err)
	}
	m.store = s
}

// anyID draws the id of a task, mostly of one that is there.
func (m *machine) anyID(t *rapid.T) string {
	if list := m.model.ids(); len(list) > 0 && rapid.IntRange(0, 9).Draw(t, "known") > 0 {
		return rapid.SampledFrom(list).Draw(t, "id")
	}
	return rapid.SampledFrom([]string{"0", "01", "x", "", "99", "1", "2"}).Draw(t, "odd id")
}

func (m *machine) someIDs(t *rapid.T, label string) []string {
	n := rapid.SampledFrom([]int{0, 0, 1, 1, 2}).Draw(t, label)
	var list []string
	for range n {
		list = append(list, m.anyID(t))
	}
	return list
}

func anyMember(t *rapid.T) string { return rapid.SampledFrom(memberNames).Draw(t, "member") }

func anyOwner(t *rapid.T) string {
	return rapid.SampledFrom(append([]string{""}, memberNames...)).Draw(t, "owner")
}

func (m *machine) allKnown(list []string) bool {
	return !slices.ContainsFunc(list, func(id string) bool { return m.model.tasks[id] == nil })
}

// agree fails unless the store refused exactly what the model refuses.
func agree(t *rapid.T, err, want error) {
	if want == nil && err != nil || !errors.Is(err, want) {
		t.Fatalf("store says %v, model %v", err, want)
	}
}

// CreateAndDecide makes a proposed task and confirms or discards it.
func (m *machine) CreateAndDecide(t *rapid.T) {
	by, owner, deps := anyMember(t), anyOwner(t), m.someIDs(t, "deps")
	var want error
	if !m.allKnown(deps) {
		want = ErrDependency
	}
	task, err := m.store.Create(m.Context(), as(by), New{Subject: "s", Owner: owner, BlockedBy: deps})
	agree(t, err, want)
	if err != nil {
		return
	}
	m.model.high++
	id := strconv.Itoa(m.model.high)
	if task.ID != id {
		t.Fatalf("id %s, want %s", task.ID, id)
	}
	if rapid.Bool().Draw(t, "discard") {
		agree(t, m.store.Discard(m.Context(), as(by), id, "no"), nil)
		m.model.event(Refused, id, by)
		return
	}
	if rapid.Bool().Draw(t, "leave") {
		m.model.proposed[id] = &modelTask{owner: owner, blockedBy: store.Unique(deps)}
		return
	}
	m.confirm(t, by, id, &modelTask{owner: owner, blockedBy: store.Unique(deps)})
}

func (m *machine) confirm(t *rapid.T, by, id string, task *modelTask) {
	_, err := m.store.Confirm(m.Context(), as(by), id)
	agree(t, err, nil)
	task.status, task.version, task.subject = Pending, 2, "s"
	task.blockedBy = slices.DeleteFunc(task.blockedBy, func(b string) bool { return m.model.tasks[b] == nil })
	m.model.tasks[id] = task
	m.model.event(Created, id, by)
	m.model.assigned(by, id, false)
}

// ConfirmLater confirms a task that was left proposed.
func (m *machine) ConfirmLater(t *rapid.T) {
	for id, task := range m.model.proposed {
		delete(m.model.proposed, id)
		m.confirm(t, anyMember(t), id, task)
		return
	}
	_, err := m.store.Confirm(m.Context(), as("ann"), "1")
	agree(t, err, ErrNotFound)
}

// Claim lets a member claim a task.
func (m *machine) Claim(t *rapid.T) {
	id, member, limit := m.anyID(t), anyMember(t), rapid.IntRange(0, 2).Draw(t, "max")
	_, err := m.store.Claim(m.Context(), as(member), id, Claim{Max: limit})
	task := m.model.tasks[id]
	busy := len(m.model.filter(func(t *modelTask) bool { return t.status == InProgress && t.owner == member }))
	switch {
	case task == nil:
		agree(t, err, ErrNotFound)
	case task.status == Completed:
		agree(t, err, ErrDone)
	case task.status == InProgress && task.owner == member:
		agree(t, err, nil)
	case task.owner != "" && task.owner != member:
		agree(t, err, ErrOwned)
	case m.model.waits(task):
		agree(t, err, ErrBlocked)
	case limit > 0 && busy >= limit:
		agree(t, err, ErrBusy)
	default:
		agree(t, err, nil)
		task.status, task.owner = InProgress, member
		task.epoch++
		task.version++
		delete(m.model.lost, member+" "+id)
		m.model.event(Claimed, id, member)
	}
}

// SetStatus sets a status, and perhaps an owner.
func (m *machine) SetStatus(t *rapid.T) {
	id, by := m.anyID(t), anyMember(t)
	status := rapid.SampledFrom([]Status{Pending, InProgress, Completed}).Draw(t, "status")
	p := Patch{Status: &status}
	if rapid.Bool().Draw(t, "with owner") {
		p.Owner = ptr(anyOwner(t))
	}
	_, fields, err := m.store.Update(m.Context(), as(by), id, p)
	task := m.model.tasks[id]
	if task == nil {
		agree(t, err, ErrNotFound)
		return
	}
	owner := task.owner
	if p.Owner != nil {
		owner = *p.Owner
	}
	switch {
	case status != InProgress && m.model.fenced(by, id):
		agree(t, err, ErrStale)
		return
	case task.status == Completed && status == InProgress:
		agree(t, err, ErrTransition)
		return
	case task.status == Pending && status == InProgress && m.model.waits(task):
		agree(t, err, ErrBlocked)
		return
	case status == InProgress && owner == "":
		agree(t, err, ErrInvalid)
		return
	}
	agree(t, err, nil)
	var want []string
	if owner != task.owner {
		want = append(want, "owner")
	}
	if status != task.status {
		want = append(want, "status")
	}
	same(t, "fields", fields, want)
	m.applyStatus(id, by, status, owner)
}

func (m *machine) applyStatus(id, by string, status Status, owner string) {
	task := m.model.tasks[id]
	was := *task
	if was.status == status && was.owner == owner {
		return
	}
	waiting := m.model.waitingFor(id)
	task.status, task.owner = status, owner
	task.version++
	if was.owner != owner || (was.status == InProgress) != (status == InProgress) {
		task.epoch++
	}
	delete(m.model.lost, owner+" "+id)
	m.model.event(opOf(was.status, status), id, by)
	if was.status == InProgress && status != Completed && owner != was.owner && was.owner != by {
		m.model.lose(by, was.owner, id, true)
	}
	if was.owner != owner {
		m.model.assigned(by, id, false)
	}
	if status == Completed && was.status != Completed {
		m.model.freed(by, waiting)
	}
}

// Depend adds dependencies.
func (m *machine) Depend(t *rapid.T) {
	id, by := m.anyID(t), anyMember(t)
	p := Patch{AddBlocks: m.someIDs(t, "blocks"), AddBlockedBy: m.someIDs(t, "blockedBy")}
	_, _, err := m.store.Update(m.Context(), as(by), id, p)
	task := m.model.tasks[id]
	if task == nil {
		agree(t, err, ErrNotFound)
		return
	}
	if !m.allKnown(p.AddBlocks) || !m.allKnown(p.AddBlockedBy) {
		agree(t, err, ErrDependency)
		return
	}
	before := map[string][]string{}
	for id, task := range m.model.tasks {
		before[id] = slices.Clone(task.blockedBy)
	}
	var touched []string
	cycle := false
	link := func(blocker, dependent string) bool {
		if slices.Contains(m.model.tasks[dependent].blockedBy, blocker) {
			return false
		}
		cycle = cycle || m.model.reaches(dependent, blocker)
		if !cycle {
			m.model.tasks[dependent].blockedBy = append(m.model.tasks[dependent].blockedBy, blocker)
		}
		return true
	}
	changed := false
	for _, b := range store.Unique(p.AddBlockedBy) {
		changed = link(b, id) || changed
	}
	for _, d := range store.Unique(p.AddBlocks) {
		if link(id, d) {
			changed = true
			touched = append(touched, d)
		}
	}
	if cycle {
		agree(t, err, ErrCycle)
		for id, list := range before {
			m.model.tasks[id].blockedBy = list
		}
		return
	}
	agree(t, err, nil)
	if !changed {
		return
	}
	task.version++
	m.model.event(Updated, id, by)
	for _, d := range touched {
		m.model.tasks[d].version++
		m.model.event(Updated, d, by)
	}
}

// Rename changes a subject under compare-and-set.
func (m *machine) Rename(t *rapid.T) {
	id := m.anyID(t)
	subject := rapid.SampledFrom([]string{"s", "t", "u"}).Draw(t, "subject")
	version := uint64(rapid.IntRange(0, 4).Draw(t, "version"))
	_, _, err := m.store.Update(m.Context(), as("ann"), id, Patch{Version: version, Subject: &subject})
	task := m.model.tasks[id]
	switch {
	case task == nil:
		agree(t, err, ErrNotFound)
	case version != 0 && version != task.version:
		agree(t, err, ErrConflict)
	default:
		agree(t, err, nil)
		if task.subject != subject {
			task.subject = subject
			task.version++
			m.model.event(Updated, id, "ann")
		}
	}
}

// Delete removes a task.
func (m *machine) Delete(t *rapid.T) {
	id, by := m.anyID(t), anyMember(t)
	_, err := m.store.Delete(m.Context(), as(by), id, nil)
	if m.model.tasks[id] == nil {
		agree(t, err, ErrNotFound)
		return
	}
	if m.model.fenced(by, id) {
		agree(t, err, ErrStale)
		return
	}
	agree(t, err, nil)
	m.model.event(Deleted, id, by)
	if was := m.model.tasks[id]; was.status == InProgress && was.owner != by {
		m.model.send(by, was.owner, mail.TaskLost, "lost "+id)
	}
	waiting := m.model.waitingFor(id)
	delete(m.model.tasks, id)
	dependents := m.model.filter(func(t *modelTask) bool { return slices.Contains(t.blockedBy, id) })
	for _, d := range dependents {
		m.model.tasks[d].blockedBy = without(m.model.tasks[d].blockedBy, id)
		m.model.tasks[d].version++
	}
	m.model.freed(by, waiting)
	for _, d := range dependents {
		m.model.event(Updated, d, by)
	}
}

// Release takes a member's work away.
func (m *machine) Release(t *rapid.T) {
	member := anyMember(t)
	_, err := m.store.Release(m.Context(), actors.Actor{}, member, "gone")
	agree(t, err, nil)
	for _, id := range m.model.filter(func(t *modelTask) bool { return t.status == InProgress && t.owner == member }) {
		task := m.model.tasks[id]
		m.model.lose("", member, id, false)
		task.status, task.owner = Pending, ""
		task.epoch++
		task.version++
		m.model.event(Released, id, "")
	}
}

// Attach begins a session.
func (m *machine) Attach(t *rapid.T) {
	member := anyMember(t)
	got, err := m.store.members.Attach(m.Context(), member, func() string { return "session-" + member })
	agree(t, err, nil)
	m.model.epochs[member]++
	if got.Epoch != m.model.epochs[member] || got.Session != "session-"+member {
		t.Fatalf("attached as %+v, want epoch %d", got, m.model.epochs[member])
	}
	for _, id := range m.model.filter(func(t *modelTask) bool { return t.status == InProgress && t.owner == member }) {
		m.model.tasks[id].epoch++
		m.model.tasks[id].version++
		m.model.event(Updated, id, "")
	}
	for id := range m.model.high + 1 { // in the order of their ids
		key := member + " " + strconv.Itoa(id)
		if told, lost := m.model.lost[key]; !lost || told > 0 {
			continue
		}
		if m.model.tasks[strconv.Itoa(id)] == nil {
			delete(m.model.lost, key)
		} else {
			m.model.tellLoss("", member, strconv.Itoa(id))
		}
	}
}

// Send sends a message, sometimes a long one, under a session that may be over.
func (m *machine) Send(t *rapid.T) {
	from, to := anyMember(t), []string{anyMember(t), anyMember(t)}
	session := uint64(rapid.IntRange(0, 3).Draw(t, "session"))
	text := rapid.SampledFrom([]string{"hi", "", strings.Repeat("long ", 20_000)}).Draw(t, "text")
	_, err := m.store.mail.Send(m.Context(), actors.Actor{Name: from, Session: session}, mail.Outgoing{To: to, Text: text})
	if session != 0 && session != m.model.epochs[from] {
		agree(t, err, ErrStale)
		return
	}
	agree(t, err, nil)
	for _, name := range store.Unique(to) {
		m.model.send(from, name, mail.Text, text)
	}
}

// Deliver delivers some of a member's mail, in any order, perhaps twice.
func (m *machine) Deliver(t *rapid.T) {
	member := anyMember(t)
	list, err := m.store.mail.Unread(m.Context(), member)
	agree(t, err, nil)
	var gone []string
	var left []string
	for i, msg := range list {
		if rapid.Bool().Draw(t, "take") {
			gone = append(gone, msg.ID)
			_, number, _ := strings.Cut(m.model.mail[member][i], "@")
			maps.DeleteFunc(m.model.lost, func(_ string, told int) bool { return strconv.Itoa(told) == number })
		} else {
			left = append(left, m.model.mail[member][i])
		}
	}
	for range 2 {
		agree(t, m.store.mail.Deliver(m.Context(), as(member), gone), nil)
	}
	m.model.mail[member] = left
	for range gone {
		m.model.events = append(m.model.events, "delivered to "+member)
	}
}

// RepeatedCall makes a change twice under one call id.
func (m *machine) RepeatedCall(t *rapid.T) {
	m.calls++
	a := actors.Actor{Name: anyMember(t), CallID: fmt.Sprint("call ", m.calls)}
	for range 2 {
		list, err := m.store.Add(m.Context(), a, []New{{Subject: "s", Key: "a"}, {Subject: "s", BlockedBy: []string{"a"}}})
		agree(t, err, nil)
		wantList(m, "repeated call", ids(list), []string{strconv.Itoa(m.model.high + 1), strconv.Itoa(m.model.high + 2)})
	}
	first, second := strconv.Itoa(m.model.high+1), strconv.Itoa(m.model.high+2)
	m.model.high += 2
	m.model.tasks[first] = &modelTask{status: Pending, version: 1, subject: "s"}
	m.model.tasks[second] = &modelTask{status: Pending, version: 1, subject: "s", blockedBy: []string{first}}
	m.model.event(Created, first, a.Name)
	m.model.event(Created, second, a.Name)
}

// Reopen closes the store and opens it again.
func (m *machine) Reopen(t *rapid.T) {
	agree(t, m.store.Close(), nil)
	m.open()
}

// Check compares the store with the model.
func (m *machine) Check(t *rapid.T) {
	if err := m.store.Check(m.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := m.store.List(m.Context())
	agree(t, err, nil)
	var have, want []string
	for _, task := range list {
		have = append(have, fmt.Sprint(task.ID, task.Status, task.Owner, task.Epoch, task.Version, task.Subject, task.BlockedBy, task.Blocks))
	}
	for _, id := range m.model.ids() {
		x := m.model.tasks[id]
		blocks := m.model.filter(func(t *modelTask) bool { return slices.Contains(t.blockedBy, id) })
		want = append(want, fmt.Sprint(id, x.status, x.owner, x.epoch, x.version, x.subject, x.blockedBy, blocks))
	}
	same(t, "tasks", have, want)
	proposed, err := m.store.Proposed(m.Context())
	agree(t, err, nil)
	if len(proposed) != len(m.model.proposed) {
		t.Fatalf("proposed %q, want %d", ids(proposed), len(m.model.proposed))
	}
	m.compareLists(t)
	m.compareMail(t)
	same(t, "events", told(m, drain(m, m.store)), m.model.events)
	m.model.events = nil
}

func (m *machine) compareLists(t *rapid.T) {
	ready, err := m.store.Ready(m.Context())
	agree(t, err, nil)
	same(t, "ready", ids(ready), m.model.filter(func(x *modelTask) bool {
		return x.status == Pending && x.owner == "" && !m.model.waits(x)
	}))
	isOpen, err := m.store.AnyOpen(m.Context())
	agree(t, err, nil)
	open := m.model.filter(func(x *modelTask) bool { return x.status != Completed })
	same(t, "any open", []string{fmt.Sprint(isOpen)}, []string{fmt.Sprint(len(open) > 0)})
	if len(ready) > 0 {
		first, found, err := m.store.FirstReady(m.Context(), func(Wants) bool { return true })
		agree(t, err, nil)
		same(t, "first ready", []string{first.ID, fmt.Sprint(found)}, []string{ready[0].ID, "true"})
	}
	for _, name := range memberNames {
		actable, err := m.store.Actable(m.Context(), name)
		agree(t, err, nil)
		same(t, "actable by "+name, ids(actable), m.model.filter(func(x *modelTask) bool {
			return x.owner == name && (x.status == InProgress || x.status == Pending && !m.model.waits(x))
		}))
		owned, err := m.store.Owned(m.Context(), name)
		agree(t, err, nil)
		same(t, "owned by "+name, ids(owned), m.model.filter(func(x *modelTask) bool {
			return x.owner == name && x.status != Completed
		}))
		busy, err := m.store.InProgress(m.Context(), name)
		agree(t, err, nil)
		same(t, "in progress by "+name, ids(busy), m.model.filter(func(x *modelTask) bool {
			return x.owner == name && x.status == InProgress
		}))
	}
}

func (m *machine) compareMail(t *rapid.T) {
	for _, name := range memberNames {
		list, err := m.store.mail.Unread(m.Context(), name)
		agree(t, err, nil)
		have := []string{}
		for _, msg := range list {
			text := msg.Text
			if msg.Kind == mail.TaskAssignment {
				var n Assignment
				if err := json.Unmarshal(msg.Data, &n); err != nil {
					t.Fatal(err)
				}
				text = "yours " + n.TaskID
				if n.Ready {
					text = "ready " + n.TaskID
				}
			}
			if msg.Kind == mail.TaskLost {
				text = "lost " + unmarshal[Loss](m, msg.Data).TaskID
			}
			have = append(have, string(msg.Kind)+" "+text)
		}
		var want []string
		for _, line := range m.model.mail[name] {
			line, _, _ = strings.Cut(line, "@")
			want = append(want, line)
		}
		same(t, "mail of "+name, have, want)
	}
}

func same(t *rapid.T, what string, have, want []string) {
	if !slices.Equal(have, want) {
		t.Fatalf("%s:\n have %.2000q\n want %.2000q", what, have, want)
	}
}

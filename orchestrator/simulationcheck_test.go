package orchestrator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// simTeam draws a team: two to four members, three to nine tasks, each of them
// somebody's or nobody's, some waiting for others. Whoever ends a task tells another
// member. It returns the files and how many tasks there are.
func simTeam(random *rand.Rand) (map[string]string, int) {
	members := []string{"ana", "bob", "cyd", "dan"}[:2+random.IntN(3)]
	n := 3 + random.IntN(7)
	spec, list := &strings.Builder{}, &strings.Builder{}
	spec.WriteString("covey: 1\nname: crew\ngoal: Ship it.\nmodels:\n  lead: {provider: script, script: lead.yaml}\n")
	scripts := map[string]*strings.Builder{}
	for _, m := range members {
		fmt.Fprintf(spec, "  %[1]s: {provider: script, script: %[1]s.yaml}\n", m)
		scripts[m] = &strings.Builder{}
		scripts[m].WriteString("steps:\n")
	}
	for id := 1; id <= n; id++ {
		owner := ""
		if random.IntN(3) > 0 {
			owner = members[random.IntN(len(members))]
		}
		blockers := []string{}
		for b := 1; b < id; b++ {
			if random.IntN(5) == 0 {
				blockers = append(blockers, fmt.Sprint("t", b))
			}
		}
		fmt.Fprintf(list, "  - {id: t%d, subject: Do it, owner: %q, blocked_by: [%s]}\n", id, owner, strings.Join(blockers, ", "))
		for _, m := range members { // its owner may leave over a disk that is full
			simSteps(scripts[m], id, m, members[random.IntN(len(members))])
		}
	}
	spec.WriteString("lead: {model: lead}\nteammates:\n")
	files := map[string]string{"lead.yaml": "steps: [{say: Fine., times: -1}]\n"}
	for _, m := range members {
		fmt.Fprintf(spec, "  %[1]s: {model: %[1]s}\n", m)
		files[m+".yaml"] = scripts[m].String() + "  - {say: Well., times: -1}\n"
	}
	files["team.yaml"] = strings.ReplaceAll(spec.String()+"tasks:\n"+list.String(), `owner: "", `, "")
	return files, n
}

// simSteps are what a member does with a task: it begins with it, tells of it and
// ends it, in one answer; where a gate refused or a crash came in between, once more.
func simSteps(b *strings.Builder, id int, me, other string) {
	tell := ""
	if other != me {
		tell = fmt.Sprintf("{tool: SendMessage, input: {to: %s, message: \"%s did %d.\"}}, ", other, me, id)
	}
	fmt.Fprintf(b, `  - when: '(claimed task #%[1]d:|#%[1]d: Do it[^#]*It is ready|own open tasks(.|\n)*#%[1]d )'
    call: [{tool: TaskUpdate, input: {taskId: "%[1]d", status: in_progress}}, %[2]s{tool: TaskUpdate, input: {taskId: "%[1]d", status: completed}}]
  - when: '(own open tasks(.|\n)*#%[1]d |TaskCompleted hook feedback)'
    times: -1
    call: [{tool: TaskUpdate, input: {taskId: "%[1]d", status: completed}}]
`, id, tell)
}

// judge looks at all that a simulation has left: no task lost or ended twice, every
// message sent once and shown once, every committed event in the journal once, and
// a sound store.
func (s *simulation) judge() error {
	store, err := tasks.Open(s.place.Store(), &tasks.Options{BlobDir: s.place.Blobs()})
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.Check(context.Background()); err != nil {
		return fmt.Errorf("the store: %w", err)
	}
	list, err := store.List(context.Background())
	if err != nil {
		return err
	}
	if len(list) != s.tasks {
		return fmt.Errorf("%d tasks of %d are left", len(list), s.tasks)
	}
	sent, err := s.judgeJournal()
	if err != nil {
		return err
	}
	return s.judgeMail(sent)
}

// judgeJournal reads the journal, and returns what members have sent.
func (s *simulation) judgeJournal() (sent map[string]mail.Message, err error) {
	data, err := os.ReadFile(s.place.Journal())
	if err != nil {
		return nil, err
	}
	var seq, top uint64
	stored, ended, delivered := map[uint64]int{}, map[string]int{}, map[string]int{}
	sent = map[string]mail.Message{}
	words := map[string]string{} // id of the message with a text of a member's
	for text := range bytes.Lines(data) {
		var l events.Line
		if err := json.Unmarshal(text, &l); err != nil || l.Seq <= seq {
			return nil, fmt.Errorf("journal line after %d: %q (%v)", seq, text, err)
		}
		seq = l.Seq
		if l.Store > 0 {
			stored[l.Store]++
			top = max(top, l.Store)
		}
		var m mail.Message
		var change tasks.Change
		switch {
		case l.Type == "task" && json.Unmarshal(l.Data, &change) == nil && change.Op == tasks.TaskCompleted:
			ended[change.Task.ID]++
		case l.Type == "message" && json.Unmarshal(l.Data, &m) == nil:
			sent[m.ID] = m
			if first, twice := words[m.From+m.Text]; twice && m.Kind == mail.Text {
				return nil, fmt.Errorf("%q was sent twice: %s and %s", m.Text, first, m.ID)
			}
			words[m.From+m.Text] = m.ID
		case l.Type == "message_delivered" && json.Unmarshal(l.Data, &m) == nil:
			delivered[m.ID]++
		}
	}
	for id := uint64(1); id <= top; id++ {
		if stored[id] != 1 {
			return nil, fmt.Errorf("event %d of the store stands in the journal %d times", id, stored[id])
		}
	}
	for id := 1; id <= s.tasks; id++ {
		if n := ended[fmt.Sprint(id)]; n != 1 {
			return nil, fmt.Errorf("task %d was completed %d times", id, n)
		}
	}
	for id, m := range sent {
		if m.Kind == mail.Terminated { // told along with other news, and the team may be done before
			continue
		}
		if delivered[id] != 1 {
			return nil, fmt.Errorf("message %s to %s (%s) was delivered %d times", id, m.To, m.Text, delivered[id])
		}
	}
	return sent, nil
}

// judgeMail looks whether the transcripts show each message that members have sent
// once, and each call has its one result.
func (s *simulation) judgeMail(sent map[string]mail.Message) error {
	paths, err := filepath.Glob(filepath.Join(s.place.Transcripts(), "*", "*.jsonl"))
	if err != nil {
		return err
	}
	shown, results := map[string]int{}, map[string]int{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for text := range bytes.Lines(data) {
			var l struct {
				Mail    []string
				Message struct {
					Content []struct{ Type, ID, ToolUseID string }
				}
			}
			raw := bytes.ReplaceAll(text, []byte(`"tool_use_id"`), []byte(`"ToolUseID"`))
			if err := json.Unmarshal(raw, &l); err != nil {
				return fmt.Errorf("%s: a torn line: %q", path, text)
			}
			for _, id := range l.Mail {
				shown[id]++
			}
			for _, b := range l.Message.Content {
				switch b.Type {
				case "tool_use":
					results[path+b.ID] += 0
				case "tool_result":
					results[path+b.ToolUseID]++
				}
			}
		}
	}
	for id, m := range sent {
		if m.Kind == mail.Text && shown[id] != 1 {
			return fmt.Errorf("message %s to %s (%s) was shown %d times", id, m.To, m.Text, shown[id])
		}
	}
	for id, n := range results {
		if n != 1 {
			return fmt.Errorf("call %s has %d results", id, n)
		}
	}
	return nil
}

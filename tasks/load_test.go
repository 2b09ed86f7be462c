package tasks

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// loading is a loading of two tasks, a message and a value.
func loading() Loading {
	return Loading{
		Tasks: []New{{Key: "a", Subject: "A", Owner: "ana"}, {Subject: "B", BlockedBy: []string{"a"}}},
		From:  "operator", Mail: []mail.Outgoing{{To: []string{"lead"}, Text: "Ship it."}},
		Values: func(ids []string) map[string]json.RawMessage {
			data, _ := json.Marshal(ids)
			return map[string]json.RawMessage{"ids": data, "goal": json.RawMessage(`"Ship it."`)}
		},
	}
}

func TestLoad(t *testing.T) {
	s := open(t, nil)
	added, err := s.Load(t.Context(), loading())
	if err != nil || len(added) != 2 || added[0].ID != "1" || len(added[1].BlockedBy) != 1 || added[1].BlockedBy[0] != "1" {
		t.Fatalf("%+v, %v", added, err)
	}
	if v, ok, err := s.Value(t.Context(), "ids"); err != nil || !ok || string(v) != `["1","2"]` {
		t.Errorf("the ids that were stored: %s, %v", v, err)
	}
	for to, want := range map[string]string{"lead": "operator", "ana": ""} {
		mail, err := s.mail.Unread(t.Context(), to)
		if err != nil || len(mail) != 1 || mail[0].From != want {
			t.Errorf("mail of %s: %+v, %v", to, mail, err)
		}
	}
}

// TestLoadIsAllOrNothing: whichever part cannot be stored, nothing of the others is.
func TestLoadIsAllOrNothing(t *testing.T) {
	for name, spoil := range map[string]func(*Loading){
		"a subject":  func(l *Loading) { l.Tasks[1].Subject = "" },
		"a blocker":  func(l *Loading) { l.Tasks[1].BlockedBy = []string{"77"} },
		"a cycle":    func(l *Loading) { l.Tasks[0].BlockedBy = []string{"a"} },
		"a receiver": func(l *Loading) { l.Mail[0].To = nil },
		"a mailbox":  func(l *Loading) { l.Mail = append(l.Mail, mail.Outgoing{To: []string{"full"}, Text: "one more"}) },
		"a value": func(l *Loading) {
			l.Values = func([]string) map[string]json.RawMessage {
				return map[string]json.RawMessage{"ids": json.RawMessage("{")}
			}
		},
		"a key": func(l *Loading) {
			l.Values = func([]string) map[string]json.RawMessage { return map[string]json.RawMessage{"": json.RawMessage("1")} }
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, &Options{MaxUnread: 1})
			if _, err := s.mail.Send(t.Context(), actors.Actor{Name: "x"}, mail.Outgoing{To: []string{"full"}, Text: "hello"}); err != nil {
				t.Fatal(err)
			}
			l := loading()
			spoil(&l)
			if _, err := s.Load(t.Context(), l); err == nil {
				t.Fatal("it was stored")
			} else if name == "a mailbox" && !errors.Is(err, ErrFull) {
				t.Errorf("a full mailbox: %v", err)
			}
			list, err := s.List(t.Context())
			mail, err2 := s.mail.Unread(t.Context(), "lead")
			_, found, err3 := s.Value(t.Context(), "ids")
			if err := errors.Join(err, err2, err3); err != nil || len(list)+len(mail) != 0 || found {
				t.Errorf("stored: %d tasks, %d messages, value %v; %v", len(list), len(mail), found, err)
			}
			if _, err := s.Load(t.Context(), loading()); err != nil {
				t.Errorf("the same without the fault: %v", err)
			}
		})
	}
}

package inbox_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/notices"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// TestAnsweredByLink: a webhook gets a question with links, one of two uses of them answers it,
// and the member goes on with that answer.
func TestAnsweredByLink(t *testing.T) {
	t.Parallel()
	posted := make(chan notices.Notice, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var n notices.Notice
		if err := json.Unmarshal(body, &n); err != nil {
			t.Error(err)
		}
		posted <- n
	}))
	defer hook.Close()
	files := asksFirst("on_ask: wait\nweb: {public_url: 'https://covey.example.com'}\n" +
		"notify: [{to: {webhook: '" + hook.URL + "', secret_file: secret}, about: [question, ended]}]\n")
	files["secret"] = "0123456789abcdef\n"
	u := teamtest.Start(teamtest.NewRig(t, files), &teamtest.HandClock{})
	r := u.Asked(requests.AskPermission)
	asked := <-posted
	if asked.Kind != "question" || asked.ID != r.ID || asked.Answer == nil {
		t.Fatalf("posted %+v", asked)
	}
	token, _, _ := strings.Cut(strings.TrimPrefix(asked.Answer.Approve, "https://covey.example.com/a/"), "?")
	c := u.Client()
	if page, err := c.Web(t.Context(), api.WebPage{}); err != nil || page.Public != "https://covey.example.com" {
		t.Errorf("the page is %+v (%v)", page, err)
	}
	if l, err := c.Link(t.Context(), api.Link{Token: token}); err != nil || l.Refused != "" || !l.Request.Open() {
		t.Errorf("the link leads to %+v (%v)", l, err)
	}
	if _, err := c.Link(t.Context(), api.Link{Token: "x" + token, Answer: true}); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("another link: %v", err)
	}
	var uses sync.WaitGroup
	var replies [2]api.LinkReply
	for i := range replies {
		uses.Go(func() {
			var err error
			if replies[i], err = c.Link(t.Context(), api.Link{Token: token, Answer: true, Approve: true}); err != nil {
				t.Error(err)
			}
		})
	}
	uses.Wait()
	if one, two := replies[0].Refused, replies[1].Refused; (one == "") == (two == "") || !strings.Contains(one+two, "counts once") {
		t.Errorf("refused with %q and %q", one, two)
	}
	u.Want(u.End(), orchestrator.CodeDone, "all work is done")
	if u.Made() != "ran\n" {
		t.Errorf("the command wrote %q", u.Made())
	}
	if end := <-posted; end.Kind != "ended" || end.Text != "the team ends: all work is done" || end.Answer != nil {
		t.Errorf("posted %+v", end)
	}
	for _, l := range u.Lines.All() {
		if strings.Contains(string(l.Data), token) {
			t.Errorf("the journal has the token: %s", l.Data)
		}
	}
}

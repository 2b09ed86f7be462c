package configs

import (
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
)

// Notable is a kind of event that people can be told of.
type Notable string

// The kinds of events. The first five stay open until somebody acts on them.
const (
	NotableQuestion  Notable = "question"   // a member may not go on without an answer
	NotableApproval  Notable = "approval"   // a plan or finished work waits for its approval
	NotableAttention Notable = "attention"  // a member needs attention
	NotableMergeHeld Notable = "merge_held" // a merge waits for a decision
	NotableUnmerged  Notable = "unmerged"   // finished work waits until somebody merges it
	NotableRefused   Notable = "refused"    // a gate has refused
	NotableDone      Notable = "done"       // a task is completed
	NotableEnded     Notable = "ended"      // the run of the team ends
	NotableBudget    Notable = "budget"     // little is left of a limit
)

// notables are all kinds, open ones first.
var notables = []string{
	string(NotableQuestion), string(NotableApproval), string(NotableAttention), string(NotableMergeHeld),
	string(NotableUnmerged), string(NotableRefused), string(NotableDone), string(NotableEnded), string(NotableBudget),
}

// Notify is a rule of the section `notify`: who is told what, and when. It has one of Desktop,
// Command and Webhook. Its JSON identifies it.
type Notify struct {
	Desktop    bool     `json:"desktop,omitempty"`
	Command    []string `json:"command,omitempty"`     // a program with its arguments
	Webhook    string   `json:"webhook,omitempty"`     // a URL
	SecretFile string   `json:"secret_file,omitempty"` // absolute path; of a Webhook

	About  []Notable     `json:"about"`           // never empty
	Of     []string      `json:"of,omitempty"`    // members; nil: all
	After  time.Duration `json:"after,omitempty"` // how long something must be open
	Hours  yaml.Hours    `json:"hours,omitzero"`
	Digest time.Duration `json:"digest,omitempty"` // the least time between two notices
}

// Web is the section `web`.
type Web struct {
	PublicURL string // by which people reach the web page; without a slash at its end; empty: none
}

// noticeRules checks the sections `notify` and `web`.
type noticeRules struct{ *resolver }

// notify resolves the section `notify`. members are the names of all members.
func (r noticeRules) notify(list yaml.List[notifySpec], members []string) []Notify {
	var out []Notify
	for i := range list.Items {
		out = append(out, r.rule(&list.Items[i], yaml.NewNameSet("member", members)))
	}
	return out
}

// rule resolves one rule.
func (r noticeRules) rule(s *notifySpec, members yaml.NameSet) Notify {
	n := Notify{
		Desktop: s.to.word.V != "", Of: yaml.Words(s.of), After: s.after.V, Digest: s.digest.V,
		Hours: r.Hours(s.hours, s.zone),
	}
	r.target(&n, &s.to)
	members.Check(r.Decoder, s.of.At)
	for _, kind := range s.about.Items {
		switch {
		case kind.V == "":
		case slices.Contains(n.About, Notable(kind.V)):
			r.Fail(kind.At.At, "about names %s twice; keep one", kind.V)
		default:
			n.About = append(n.About, Notable(kind.V))
		}
	}
	switch {
	case !s.about.Given():
		n.About = []Notable{NotableQuestion, NotableApproval, NotableAttention, NotableMergeHeld}
	case s.about.At.Kind == yaml.ListKind && len(s.about.Items) == 0:
		r.Fail(s.about.At.At, "about is empty; name what the notices are about, or remove it")
	}
	return n
}

// target resolves where the notices of a rule go.
func (r noticeRules) target(n *Notify, to *targetSpec) {
	if to.at == nil {
		return
	}
	command, hook := to.command.Given(), to.webhook.Given()
	switch {
	case command && hook:
		r.Fail(to.webhook.At.At, "a rule has one target; make two rules of it")
	// Its keys were not read, so nothing can be said of them.
	case to.at.Broken:
	case !command && !hook:
		r.Fail(to.at.At, "the target is missing; write %s", targetForms)
	case hook && !to.secret.Given():
		r.Fail(to.webhook.At.At, "a webhook has no secret_file; add one with a secret that its server "+
			"knows too, such as the output of `openssl rand -hex 32`")
	case command && to.secret.Given():
		r.Fail(to.secret.At.At, "secret_file belongs to a webhook; remove it")
	}
	n.Command = yaml.Arguments(to.command)
	if !r.opts.Node {
		n.SecretFile = r.Path(to.secret, "secret file")
	}
	if u := r.WebURL(to.webhook); u != nil {
		n.Webhook = u.String()
		if yaml.GoesOpen(u) {
			r.Warn(to.webhook.At.At, "the notices, with the links that answer questions, "+
				"go over the network unencrypted; write https")
		}
	}
}

// web resolves the section `web`.
func (r noticeRules) web(s *webSpec) Web {
	u := r.WebURL(s.publicURL)
	if u == nil {
		return Web{}
	}
	switch {
	case yaml.GoesOpen(u):
		r.Fail(s.publicURL.At.At, "public_url must begin with https://, "+
			"because the links in notices answer questions")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "":
		r.Fail(s.publicURL.At.At, "public_url has a path; write only the name of the host, "+
			"such as https://covey.example.com")
	}
	return Web{PublicURL: u.Scheme + "://" + u.Host}
}

// notifySpec is one rule.
type notifySpec struct {
	to            targetSpec
	about         yaml.List[yaml.Value[string]]
	of            yaml.List[yaml.Value[string]]
	after, digest yaml.Value[time.Duration]
	hours, zone   yaml.Value[string]
}

// notifyPart decodes a rule.
func notifyPart(s *notifySpec) yaml.Part {
	return yaml.Shared("notify", yaml.Object(nil, s.fields()))
}

// targetForms are the forms of a target.
const targetForms = "desktop, {command: [...]} or {webhook: URL, secret_file: FILE}"

// fields returns the keys of a rule.
func (s *notifySpec) fields() []yaml.Field {
	to := yaml.Either(yaml.OneOf(&s.to.word, "desktop"), yaml.Object(&s.to.at, s.to.fields()), targetForms)
	kind := func(v *yaml.Value[string]) yaml.Part { return yaml.OneOf(v, notables...) }
	return []yaml.Field{
		{Key: "to", Need: true, Part: to,
			Doc: "Where notices go: to this machine's desktop, to a command, or to a webhook."},
		{Key: "about", Part: yaml.ListOf(&s.about, "a list of "+strings.Join(notables, ", "), kind),
			Doc: "What they are about. Default: [question, approval, attention, merge_held], " +
				"which is all in which somebody waits for a person."},
		{Key: "of", Part: yaml.Texts(&s.of),
			Doc: "Only notices about these members, and about the team as a whole. Default: all."},
		{Key: "after", Part: yaml.Span(&s.after),
			Doc: "How long something must wait for a person before a notice is sent. " +
				"What is answered before causes none. Default: 0."},
		{Key: "hours", Part: yaml.Text(&s.hours),
			Doc: "When notices are sent, such as \"08:00-20:00\". Others wait for the next such time " +
				"and come as one. Default: always."},
		{Key: "zone", Part: yaml.Text(&s.zone),
			Doc: "The time zone of hours, such as Europe/Berlin. Default: the machine's."},
		{Key: "digest", Part: yaml.Span(&s.digest),
			Doc: "The least time between two notices: the next one has all that came since the last. " +
				"Default: 0."},
	}
}

// targetSpec is where notices go: a word, or a mapping.
type targetSpec struct {
	at      *yaml.Node
	word    yaml.Value[string]
	command yaml.List[yaml.Value[string]]
	webhook yaml.Value[string]
	secret  yaml.Value[string]
}

// fields returns the keys of a target that is a mapping.
func (t *targetSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "command", Part: yaml.CommandLine(&t.command, "[./notify.sh]"),
			Doc: "A program with its arguments, run in the workspace with the notice as JSON on stdin."},
		{Key: "webhook", Part: yaml.Text(&t.webhook),
			Doc: "A URL that the notice is posted to as JSON, signed, and again until the server has taken it."},
		{Key: "secret_file", Part: yaml.Text(&t.secret),
			Doc: "The file with the secret that signs what goes to the webhook, relative to the spec."},
	}
}

// webSpec is the section `web`.
type webSpec struct{ publicURL yaml.Value[string] }

// fields returns the keys of the section.
func (w *webSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "public_url", Part: yaml.Text(&w.publicURL),
			Doc: "The address by which people reach the web page, such as https://covey.example.com. " +
				"Notices to webhooks about questions then carry links that answer them."},
	}
}

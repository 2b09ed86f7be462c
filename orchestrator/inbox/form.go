package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// A tool's server may ask a person for some values while it works on a member's call: a form. Yes
// with the values as the text fills it in, and no declines it. Nobody waits for the answer once
// the call has ended, so such a request does not outlive it.

// FillIn puts a form before a person and waits for the answer: accept with the values, decline, or
// cancel if nobody answers in time. An empty schema asks for a yes. If ctx ends before, the request
// is withdrawn. It fails if nobody can be asked: no person is there, or the form has a shape or
// wants a secret that do not fit the inbox.
func (b *Inbox) FillIn(
	ctx context.Context, member, text string, schema json.RawMessage,
) (action string, values map[string]any, err error) {
	wanted, err := parseFields(schema)
	switch {
	case err != nil:
		return "", nil, err
	case !b.Present():
		return "", nil, errors.New("nobody is attached, and on_ask is not wait")
	case b.openForms(member) >= maxOpenForms:
		return "", nil, fmt.Errorf("%d forms for calls of %s wait for answers already", maxOpenForms, member)
	}
	r, err := b.Ask(ctx, actors.Actor{Name: member}, requests.New{
		Kind: requests.AskForm, Member: member, To: actors.Operator, Wait: b.limit, Text: texts.Short(text, 2000),
		Payload: texts.Encode(Payload{Schema: schema, Fields: wanted.describe()}),
	})
	if err != nil {
		return "", nil, fmt.Errorf("ask for %s: %w", member, err)
	}
	b.Notify(ctx, member, r)
	end := b.Asker(member).beginWait(Awaited(r))
	answered, err := b.Wait(ctx, r.ID)
	if err = errors.Join(err, end(ctx)); err != nil {
		return "", nil, errors.Join(err, b.Withdraw(context.WithoutCancel(ctx), r.ID, "the call that asked has ended"))
	}
	action = "cancel"
	switch answered.State {
	case requests.Approved:
		action = "accept"
		values, err = wanted.fill(answered.Feedback) // mayFill has read it, too
	case requests.Denied:
		action = "decline"
	}
	return action, values, errors.Join(err, b.deps.Store.Requests().MarkTaken(ctx, r.ID))
}

// openForms counts the forms of a member that wait for an answer.
func (b *Inbox) openForms(member string) (n int) {
	for _, r := range b.Open() {
		if r.Kind == requests.AskForm && r.Member == member {
			n++
		}
	}
	return n
}

// formText returns how to answer a form.
func formText(p Payload) string {
	if p.Fields == "" {
		return "Yes accepts, and no declines."
	}
	return "Yes, with this as the text, fills it in, and no declines: " + p.Fields
}

// mayFill returns an error for a yes whose text does not fill the form in. It says how to do so,
// because the request stays open.
func mayFill(r requests.Request, a Answer) error {
	if r.Kind != requests.AskForm || !a.Approve {
		return nil
	}
	p := PayloadOf(r)
	wanted, err := parseFields(p.Schema)
	if err == nil {
		_, err = wanted.fill(a.Text)
	}
	if err != nil {
		return texts.Errorf(tasks.ErrInvalid, "%v; say yes with %s as the text, or no", err, p.Fields)
	}
	return nil
}

// field is a value of a form. MCP allows plain values, and lists of choices.
type field struct {
	Type        string   `json:"type"`
	Format      string   `json:"format"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Choices     []string `json:"enum"`
	Names       []string `json:"enumNames"`
	Titled      []struct {
		Value string `json:"const"`
		Title string `json:"title"`
	} `json:"oneOf"`
	Default  json.RawMessage `json:"default"`
	Minimum  *float64        `json:"minimum"`
	Maximum  *float64        `json:"maximum"`
	required bool
}

// fields are the values of a form, by name.
type fields map[string]field

// Limits of what one member's servers put before a person: what is asked is stored and journaled,
// and the forms of one must not hide the questions of others.
const (
	maxSchema    = 16 << 10 // bytes of a form
	maxFields    = 50       // values of a form
	maxOpenForms = 10       // of one member
)

// secret matches names of values that are not asked for: answers are kept in the journal, and MCP
// forbids servers to ask for secrets in this way. It knows the words of some languages.
var secret = texts.Pattern(`(?i)passw|secret|token|api.?key|credential|passphrase|(^|[^a-z])pin([^a-z]|$)|pin.?(code|number)|` +
	`cvv|cvc|card.?number|one.?time|(^|[^a-z])otp([^a-z]|$)|kennwort|losungswort|geheim|mot.?de.?passe|contrase|clave|senha|parola|` +
	`wachtwoord|has[lł]o|l[oö]senord|adgangskode|salasana|şifre|sifre|парол|пин.?код|密码|密碼|口令|パスワード|暗証|비밀번호`)

// mayBeSecret reports whether a value may be a secret by what a form says of it. Characters that a
// reader does not see hide no word.
func mayBeSecret(name string, f field) bool {
	seen := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, strings.Join([]string{name, f.Title, f.Description}, "\n"))
	return f.Format == "password" || secret().MatchString(seen)
}

// parseFields reads the schema of a form. It fails if people cannot be asked.
func parseFields(schema json.RawMessage) (fields, error) {
	var s struct {
		Properties fields   `json:"properties"`
		Required   []string `json:"required"`
	}
	if len(schema) > maxSchema {
		return nil, fmt.Errorf("the form has %d bytes, and may have %d", len(schema), maxSchema)
	}
	if len(schema) > 0 {
		if err := json.Unmarshal(schema, &s); err != nil {
			return nil, fmt.Errorf("the form cannot be read: %w", err)
		}
	}
	if len(s.Properties) > maxFields {
		return nil, fmt.Errorf("the form asks for %d values, and may ask for %d", len(s.Properties), maxFields)
	}
	for name, f := range s.Properties {
		switch {
		case f.Type == "string" && mayBeSecret(name, f):
			return nil, fmt.Errorf("%s may be a secret, and answers are kept", texts.Short(name, 60))
		case !slices.Contains([]string{"string", "number", "integer", "boolean"}, f.Type):
			return nil, fmt.Errorf("%s is of type %q, which people are not asked for", texts.Short(name, 60), texts.Short(f.Type, 20))
		}
		for _, choice := range f.Titled {
			f.Choices, f.Names = append(f.Choices, choice.Value), append(f.Names, choice.Title)
		}
		f.required = slices.Contains(s.Required, name)
		s.Properties[name] = f
	}
	return s.Properties, nil
}

// describe returns what the text of a yes must be.
func (fs fields) describe() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(fs)) {
		f := fs[name]
		part := map[string]string{"string": "a text", "number": "a number", "integer": "a whole number", "boolean": "true or false"}[f.Type]
		if len(f.Choices) > 0 {
			part = "one of " + strings.Join(f.Choices, ", ")
		}
		if f.Description != "" {
			part += " (" + f.Description + ")"
		}
		if len(fs) > 1 {
			part = strings.TrimSpace(name+"="+part) + map[bool]string{false: " or nothing"}[f.required]
		}
		parts = append(parts, part)
	}
	return texts.Preview(strings.Join(parts, "; "), 2000)
}

// fill reads the text of a yes, and checks that the values which the form needs are there.
func (fs fields) fill(text string) (content map[string]any, err error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &content) == nil {
		for name := range content { // whether the values fit is known to the library that sends them
			if _, known := fs[name]; !known {
				return nil, fmt.Errorf("the form has no %s", texts.Short(name, 60))
			}
		}
	} else if content, err = fs.read(text); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(fs)) {
		if _, given := content[name]; fs[name].required && !given {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	return content, nil
}

// read reads the value itself if the form has one, and name=value with ";" between them if it has
// several.
func (fs fields) read(text string) (map[string]any, error) {
	given := map[string]string{}
	switch {
	case len(fs) == 0 || text == "":
	case len(fs) == 1:
		for name := range fs {
			given[name] = text
		}
	default:
		for part := range strings.SplitSeq(text, ";") {
			name, value, ok := strings.Cut(part, "=")
			name = strings.TrimSpace(name)
			if _, known := fs[name]; !ok || !known {
				return nil, fmt.Errorf("%q is not name=value", texts.Short(part, 60))
			}
			given[name] = strings.TrimSpace(value)
		}
	}
	content := map[string]any{}
	for name, text := range given {
		v, err := fs[name].value(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		content[name] = v
	}
	return content, nil
}

// value reads one value.
func (f field) value(text string) (any, error) {
	switch {
	case len(f.Choices) > 0 && !slices.Contains(f.Choices, text):
		return nil, fmt.Errorf("%q is none of %s", texts.Short(text, 60), strings.Join(f.Choices, ", "))
	case f.Type == "string":
		return text, nil
	}
	var v any
	var err error
	switch f.Type {
	case "boolean":
		v, err = strconv.ParseBool(text)
	case "integer":
		v, err = strconv.ParseInt(text, 10, 64)
	default:
		v, err = strconv.ParseFloat(text, 64)
	}
	if err != nil { // that of strconv names its function
		return nil, fmt.Errorf("%q is not of type %s", texts.Short(text, 60), f.Type)
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		switch {
		case f.Minimum != nil && n < *f.Minimum:
			return nil, fmt.Errorf("%s is less than %v", texts.Short(text, 60), *f.Minimum)
		case f.Maximum != nil && n > *f.Maximum:
			return nil, fmt.Errorf("%s is more than %v", texts.Short(text, 60), *f.Maximum)
		}
	}
	return v, nil
}

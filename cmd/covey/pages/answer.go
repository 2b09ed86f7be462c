package pages

import (
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks/requests"
)

// AnswerForm is a question with the form that answers it.
type AnswerForm struct {
	Form    string // the token of the form
	Request requests.Request
	Plan    string      // that is to be approved; empty: it is about none, or it is too long to be shown with others
	Fields  []FormField // that a tool's server asks for
}

// Task is the task about whose work the question is; empty: it is about none. Work is decided about where
// its changes are shown.
func (a AnswerForm) Task() string {
	if a.Request.Kind == requests.AskApproval || a.Request.Kind == requests.AskMerge {
		return inbox.PayloadOf(a.Request).TaskID
	}
	return ""
}

// FormField is a field of a form, with what was typed and what is wrong with it.
type FormField struct {
	inbox.Field
	Value, Fault string
}

// NewAnswerForm returns the form of a question.
func NewAnswerForm(token string, r requests.Request) AnswerForm {
	a := AnswerForm{Form: token, Request: r}
	if r.Kind == requests.AskPlan {
		a.Plan = inbox.PayloadOf(r).Plan
	}
	for _, f := range inbox.FieldsOf(r) {
		a.Fields = append(a.Fields, FormField{Field: f, Value: f.Default})
	}
	return a
}

// Fill puts what was typed into the fields, and returns the text of the answer. It returns false if
// something is wrong, which is beside the fields then. typed returns what is in the field with a number.
func (a *AnswerForm) Fill(typed func(i int) string) (text string, ok bool) {
	given := map[string]string{}
	for i := range a.Fields {
		a.Fields[i].Value = typed(i)
		given[a.Fields[i].Name] = a.Fields[i].Value
	}
	text, faults := inbox.FillOut(a.Request, given)
	for i := range a.Fields {
		a.Fields[i].Fault = faults[a.Fields[i].Name]
	}
	return text, len(faults) == 0
}

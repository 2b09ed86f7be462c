package configs

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/configs/yaml"
)

// Auth says how an agent program logs in.
type Auth string

// The ways to log in.
const (
	// Login: the program uses the login that the user has made with it. covey does not
	// read it.
	Login Auth = "login"
	// Key: the program gets an API key, from covey's environment or from a file.
	Key Auth = "key"
)

// authSpec is how a program logs in: a word, or a mapping that says where the key is.
type authSpec struct {
	at   *yaml.Node // of a mapping
	mode yaml.Value[string]
	key  yaml.Value[string]
	file yaml.Value[string]
}

// fields returns the keys of the mapping.
func (a *authSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "key", Part: variablePart{&a.key},
			Doc: "The variable that the program reads its key from. Default: that of the program, if covey knows it."},
		{Key: "file", Part: yaml.Text(&a.file),
			Doc: "The file that holds the key, relative to the spec. Default: the key is in covey's environment."},
	}
}

// place returns where the spec says how to log in.
func (a *authSpec) place() *yaml.Node { return orElse(a.at, a.mode.At) }

// checkVariable reports whether n can name a variable, and reports a mistake if not. Shells
// and other programs drop or misread names of another form.
func checkVariable(d *yaml.Decoder, n *yaml.Node) bool {
	if variablePattern.MatchString(n.Text) {
		return true
	}
	d.Fail(n.At, "%s cannot be the name of a variable; write letters, digits and \"_\", with no digit first, "+
		"such as API_KEY", yaml.Quote(n.Text))
	return false
}

// variablePart decodes the name of a variable.
type variablePart struct{ to *yaml.Value[string] }

// Want returns an example of such a name.
func (p variablePart) Want() string { return "the name of a variable, such as API_KEY" }

// Decode always keeps the position.
func (p variablePart) Decode(d *yaml.Decoder, key, n *yaml.Node) {
	p.to.At = n
	if n.Kind != yaml.TextKind {
		d.Wrong(key, n, p.Want())
	} else if checkVariable(d, n) {
		p.to.V = n.Text
	}
}

// Schema requires the pattern of a variable's name.
func (p variablePart) Schema() *yaml.JSON {
	return yaml.Of(jsonschema.Schema{Type: "string", Pattern: variableForm})
}

// auth resolves how a program logs in.
func (r *resolver) auth(a *Agent, s *agentSpec) {
	auth := &s.auth
	switch {
	case auth.at != nil:
		a.Auth, a.KeyVar = Key, auth.key.V
		a.KeyFile = r.path(auth.file, "key file")
		if !auth.key.Given() && !auth.file.Given() && !auth.at.Broken {
			r.Fail(auth.at.At, "auth has neither key nor file; write {key: VARIABLE}, {file: PATH} or both")
			return
		}
	case auth.mode.V != "":
		a.Auth = Auth(auth.mode.V)
	}
	known := a.Preset != "" || auth.key.Given() || auth.at != nil && auth.at.Broken
	if a.Auth == Key && !known {
		r.Fail(auth.place().At, "covey does not know the variable that this program reads its key from; "+
			"write auth: {key: VARIABLE}, and add file: PATH if the key is in a file")
	}
}

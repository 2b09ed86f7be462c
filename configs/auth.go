package configs

import "github.com/coveyteam/covey/configs/yaml"

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
		{Key: "key", Part: yaml.Variable(&a.key),
			Doc: "The variable that the program reads its key from. Default: that of the program, if covey knows it."},
		{Key: "file", Part: yaml.Text(&a.file),
			Doc: "The file that holds the key, relative to the spec. Default: the key is in covey's environment."},
	}
}

// place returns where the spec says how to log in.
func (a *authSpec) place() *yaml.Node { return orElse(a.at, a.mode.At) }

// auth resolves how a program logs in.
func (r *resolver) auth(a *Agent, s *agentSpec) {
	auth := &s.auth
	switch {
	case auth.at != nil:
		a.Auth, a.KeyVar = Key, auth.key.V
		a.KeyFile = r.Path(auth.file, "key file")
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

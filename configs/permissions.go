package configs

import (
	"slices"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/settings"
)

// PermissionMode describes what a member may do without asking.
type PermissionMode string

// The permission modes.
const (
	Default           PermissionMode = "default"
	Plan              PermissionMode = "plan"
	AcceptEdits       PermissionMode = "acceptEdits"
	DontAsk           PermissionMode = "dontAsk"
	BypassPermissions PermissionMode = "bypassPermissions"
)

// Permissions are lists of permission rules, each of which rules.Parse accepts. Deny beats
// ask, ask beats allow.
type Permissions struct {
	Allow []string
	Ask   []string
	Deny  []string
	// Mandatory are those of Ask and Deny that must be checked before a call runs. A spec
	// is refused if the member's agent can only report calls afterwards.
	Mandatory []string
	// Held are those of Ask and Deny that a policy has: no hook of a workspace can lift them.
	Held []string
	// Unreadable describes entries of settings files that were to forbid something but
	// cannot be parsed. A team does not start with such entries.
	Unreadable []string
}

// permissionSpec holds a member's permission rules.
type permissionSpec struct {
	allow     yaml.List[yaml.Value[string]]
	ask, deny yaml.List[ruleSpec]
}

// fields returns the three lists.
func (p *permissionSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "allow", Part: ruleList(&p.allow), Doc: "Calls that need no permission, such as \"Bash(go test *)\"."},
		{Key: "ask", Part: restrictions(&p.ask),
			Doc: "Calls that a person must allow. A rule may be a mapping, to make it mandatory."},
		{Key: "deny", Part: restrictions(&p.deny),
			Doc: "Calls that are refused, such as \"Bash(git push*)\". A rule may be a mapping, to make it mandatory."},
	}
}

const wantRules = "a list of permission rules"

// ruleList returns the part of a list of permission rules. A rule that cannot be parsed protects nothing, so it
// is a mistake.
func ruleList(to *yaml.List[yaml.Value[string]]) yaml.Part {
	return yaml.Then(yaml.TextsOf(to, wantRules), func(d *yaml.Decoder) {
		for _, rule := range to.Items {
			checkRule(d, rule)
		}
	})
}

// checkRule parses a rule with package rules, which has the only parser for them.
func checkRule(d *yaml.Decoder, rule yaml.Value[string]) {
	if rule.V == "" {
		return
	}
	parsed, err := rules.Parse(rule.V)
	if err != nil {
		d.Fail(rule.At.At, "%s", trimPackage(err))
		return
	}
	// A rule for a tool that does not exist forbids nothing. A name that resembles no known
	// tool may belong to an agent program.
	switch known, near := settings.KnownTool(parsed.Tool); {
	case known:
	case near != "":
		d.Fail(rule.At.At, "there is no tool %s; write %s", yaml.Quote(parsed.Tool), near)
	case len(d.Warnings) < yaml.Listed:
		d.Warn(rule.At.At, "covey knows no tool %s, so the rule may have no effect", yaml.Quote(parsed.Tool))
	}
}

// ruleSpec is a permission rule that can be mandatory: a mapping, or the text of the rule.
type ruleSpec struct {
	at        *yaml.Node // of a mapping
	rule      yaml.Value[string]
	mandatory yaml.Value[bool]
}

// rulePart decodes a rule; its short form is its text.
func rulePart(r *ruleSpec) yaml.Part {
	return yaml.Shared("rule", yaml.Either(yaml.Text(&r.rule), yaml.Object(&r.at, r.fields()),
		"a permission rule, or a mapping such as {rule: RULE, mandatory: true}"))
}

// fields returns the keys of the mapping.
func (r *ruleSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "rule", Need: true, Part: yaml.Text(&r.rule), Doc: "The permission rule."},
		{Key: "mandatory", Part: yaml.Truth(&r.mandatory),
			Doc: "Refuse the spec if the member's agent makes such calls before covey can stop them. Default: false."},
	}
}

// restrictionsPart decodes a list of rules that restrict a member.
type restrictionsPart struct {
	yaml.Part
	to *yaml.List[ruleSpec]
}

// restrictions returns the part of such a list. Its rules may be mandatory.
func restrictions(to *yaml.List[ruleSpec]) yaml.Part {
	return restrictionsPart{yaml.ListOf(to, wantRules, rulePart), to}
}

// Decode refuses a rule that is there twice in the same form. The same rule in two forms is
// harmless, and a JSON Schema cannot detect it.
func (p restrictionsPart) Decode(d *yaml.Decoder, key, n *yaml.Node) {
	p.Part.Decode(d, key, n)
	if !d.CheckCount(key, n, len(p.to.Items)) {
		p.to.Items = nil
	}
	type form struct {
		rule             string
		long, given, yes bool
	}
	seen := map[form]bool{}
	for _, item := range p.to.Items {
		checkRule(d, item.rule)
		f := form{item.rule.V, item.at != nil, item.mandatory.Given(), item.mandatory.V}
		if f.rule != "" && seen[f] {
			d.Fail(item.rule.At.At, "%s names %s twice; keep one", yaml.NameOf(key), yaml.Quote(f.rule))
		}
		seen[f] = true
	}
}

// Schema requires unique entries.
func (p restrictionsPart) Schema() *yaml.JSON {
	out := p.Part.Schema()
	out.UniqueItems = true
	return out
}

// permissions returns a member's rules, which the decoder has checked.
func permissions(p permissionSpec) Permissions {
	out := Permissions{Allow: yaml.Words(p.allow), Ask: ruleTexts(p.ask), Deny: ruleTexts(p.deny)}
	for _, l := range []yaml.List[ruleSpec]{p.ask, p.deny} {
		for _, r := range l.Items {
			if r.mandatory.V && r.rule.V != "" && !slices.Contains(out.Mandatory, r.rule.V) {
				out.Mandatory = append(out.Mandatory, r.rule.V)
			}
		}
	}
	return out
}

// ruleTexts returns the rules of a list, as yaml.Words does.
func ruleTexts(l yaml.List[ruleSpec]) []string {
	texts := yaml.List[yaml.Value[string]]{At: l.At}
	for _, r := range l.Items {
		texts.Items = append(texts.Items, r.rule)
	}
	return yaml.Words(texts)
}

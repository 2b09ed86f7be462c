package configs

import (
	"slices"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/rules"
)

// permissionSpec holds a member's permission rules.
type permissionSpec struct {
	allow     list[value[string]]
	ask, deny list[ruleSpec]
}

// fields are the three lists; no list is also no rule.
func (p *permissionSpec) fields() []field {
	return []field{
		{key: "allow", part: ruleList(&p.allow), doc: "Calls that need no asking, such as \"Bash(go test *)\"."},
		{key: "ask", part: holdingRules{listPart[ruleSpec]{&p.ask, rulePart, wantRules}},
			doc: "Calls that need a person's word. A rule may be a mapping, to say that it is mandatory."},
		{key: "deny", part: holdingRules{listPart[ruleSpec]{&p.deny, rulePart, wantRules}},
			doc: "Calls that are refused, such as \"Bash(git push*)\". A rule may be a mapping, to say that it is mandatory."},
	}
}

const wantRules = "a list of permission rules"

// rulesPart takes permission rules. A rule that cannot be read protects
// nothing, so it must not pass.
type rulesPart struct{ uniqueTexts }

// ruleList takes a list of permission rules.
func ruleList(to *list[value[string]]) part {
	return rulesPart{uniqueTexts{listPart[value[string]]{to, text, wantRules}}}
}

// decode checks each rule.
func (p rulesPart) decode(d *decoder, key, n *yaml.Node) {
	p.uniqueTexts.decode(d, key, n)
	for _, rule := range p.to.items {
		checkRule(d, rule)
	}
}

// checkRule has package hooks read a rule; there is no other parser for them
// (DESIGN 10.9).
func checkRule(d *decoder, rule value[string]) {
	if rule.v == "" {
		return
	}
	parsed, err := rules.Parse(rule.v)
	if err != nil {
		d.fail(rule.at.At, "%s", sentence(err))
		return
	}
	// A rule for a tool that is none forbids nothing. Of a name that is like no
	// tool's a program may have one that covey does not know.
	switch known, near := rules.KnownTool(parsed.Tool); {
	case known:
	case near != "":
		d.fail(rule.at.At, "there is no tool %s; write %s", yaml.Quote(parsed.Tool), near)
	case len(d.warnings) < listed:
		d.warn(rule.at.At, "%s is no tool that covey knows, so the rule may be about nothing", yaml.Quote(parsed.Tool))
	}
}

// ruleSpec is a permission rule that can be mandatory: a mapping, or the text of
// the rule.
type ruleSpec struct {
	at        *yaml.Node // of a mapping
	rule      value[string]
	mandatory value[bool]
}

// rulePart takes a rule; its short form is its text.
func rulePart(r *ruleSpec) part {
	return shared("rule", either(text(&r.rule), object(&r.at, r.fields()),
		"a permission rule, or a mapping such as {rule: RULE, mandatory: true}"))
}

// fields are the keys of the long form.
func (r *ruleSpec) fields() []field {
	return []field{
		{key: "rule", need: true, part: text(&r.rule), doc: "The permission rule."},
		{key: "mandatory", part: truth(&r.mandatory),
			doc: "Refuse the spec if the member's agent makes such calls before covey can stop them. Default: false."},
	}
}

// holdingRules is a list of rules that hold a member back.
type holdingRules struct{ listPart[ruleSpec] }

// decode refuses what is there twice in the same words. The same rule in two
// forms says nothing wrong, and a schema cannot see it.
func (p holdingRules) decode(d *decoder, key, n *yaml.Node) {
	p.listPart.decode(d, key, n)
	if len(p.to.items) > maxTexts {
		d.fail(n.At, "%s has more than %d entries; shorten it", nameOf(key), maxTexts)
		p.to.items = nil
	}
	type form struct {
		rule             string
		long, given, yes bool
	}
	seen := map[form]bool{}
	for _, item := range p.to.items {
		checkRule(d, item.rule)
		f := form{item.rule.v, item.at != nil, item.mandatory.given(), item.mandatory.v}
		if f.rule != "" && seen[f] {
			d.fail(item.rule.at.At, "%s names %s twice; keep one", nameOf(key), yaml.Quote(f.rule))
		}
		seen[f] = true
	}
}

// schema adds that no entry comes twice.
func (p holdingRules) schema() *schema {
	out := p.listPart.schema()
	out.UniqueItems = true
	return out
}

// permissions are a member's rules; decoding has checked them.
func permissions(p permissionSpec) Permissions {
	out := Permissions{Allow: words(p.allow), Ask: ruleTexts(p.ask), Deny: ruleTexts(p.deny)}
	for _, l := range []list[ruleSpec]{p.ask, p.deny} {
		for _, r := range l.items {
			if r.mandatory.v && r.rule.v != "" && !slices.Contains(out.Mandatory, r.rule.v) {
				out.Mandatory = append(out.Mandatory, r.rule.v)
			}
		}
	}
	return out
}

// ruleTexts returns the rules of a list as words does its texts.
func ruleTexts(l list[ruleSpec]) []string {
	if !l.given() {
		return nil
	}
	out := make([]string, 0, len(l.items))
	for _, r := range l.items {
		if r.rule.v != "" {
			out = append(out, r.rule.v)
		}
	}
	return out
}

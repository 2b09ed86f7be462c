package yaml

import (
	"regexp"
	"slices"
)

// objectPart takes a mapping with known keys.
type objectPart struct {
	at     **Node // optional: remembers where the mapping is
	fields []Field
}

// Object takes a mapping with the keys of a table. at may be nil.
func Object(at **Node, fields []Field) Part { return objectPart{at, fields} }

// Want names only the kind; the keys have their own messages.
func (p objectPart) Want() string { return "a mapping" }

// Decode stores the mapping even if something in it is wrong, so that the resolver
// knows that it is given.
func (p objectPart) Decode(d *Decoder, key, n *Node) {
	if p.at != nil {
		*p.at = n
	}
	d.Object(key, n, p.fields)
}

// eitherPart takes a short form (text) or a long one (a mapping).
type eitherPart struct {
	short, long Part
	says        string // completes "it must be …"
}

// Either takes a text by one part and a mapping by another. says completes "it
// must be …" for values that are neither.
func Either(short, long Part, says string) Part { return eitherPart{short, long, says} }

// Want names both forms.
func (p eitherPart) Want() string { return p.says }

// Decode chooses the form by the kind of the value, so that a mistake inside one form
// is not reported as a missing other form.
func (p eitherPart) Decode(d *Decoder, key, n *Node) {
	if _, isTruth := p.short.(scalar[bool]); isTruth && n.Kind == BoolKind {
		p.short.Decode(d, key, n)
		return
	}
	switch n.Kind {
	case TextKind:
		// A word that is none of the short form's may be meant for the long one: both are named.
		around, _ := p.short.(aroundPart)
		if word, ok := around.Part.(textPart); ok && !slices.Contains(word.enum, n.Text) {
			d.Fail(n.At, "%s cannot be %s; write %s", NameOf(key), Quote(n.Text), p.says)
			return
		}
		p.short.Decode(d, key, n)
	case MappingKind:
		p.long.Decode(d, key, n)
	default:
		d.Fail(n.At, "%s must be %s, not %s", NameOf(key), p.says, n.Describe())
	}
}

// List is a list of the spec with its place.
type List[T any] struct {
	Items []T
	At    *Node // nil: the spec does not give it
}

// Given reports whether the spec has the list. It may be empty.
func (l List[T]) Given() bool { return l.At != nil }

// listPart takes a list whose entries are all alike.
type listPart[T any] struct {
	to   *List[T]
	part func(*T) Part // makes the part for an entry's place
	says string
}

// ListOf takes a list; entry makes the part for one entry's place. says completes
// "it must be …".
func ListOf[T any](to *List[T], says string, entry func(*T) Part) Part {
	return listPart[T]{to, entry, says}
}

// MaxTexts is how many entries a list of texts may have. Members inherit
// lists, so a small spec could make many large ones.
const MaxTexts = 1000

// CheckCount reports whether n may have so many entries, and reports a mistake if not.
func (d *Decoder) CheckCount(key, n *Node, entries int) bool {
	if entries <= MaxTexts {
		return true
	}
	d.Fail(n.At, "%s has more than %d entries; shorten it", NameOf(key), MaxTexts)
	return false
}

// Texts takes a list of texts, each at most once.
func Texts(to *List[Value[string]]) Part { return TextsOf(to, "a list of texts") }

// TextsOf takes a list of texts, each at most once. says completes "it must be …".
func TextsOf(to *List[Value[string]], says string) Part {
	return uniqueTexts{listPart[Value[string]]{to, Text, says}}
}

// SomeOf takes a list of some of a few words, each at most once. says completes "it must be …".
func SomeOf(to *List[Value[string]], says string, words ...string) Part {
	return uniqueTexts{listPart[Value[string]]{to, func(v *Value[string]) Part { return OneOf(v, words...) }, says}}
}

// Args takes a list of texts that may be empty or repeated.
func Args(to *List[Value[string]]) Part { return ListOf(to, "a list of texts", AnyText) }

// Want returns what the list is of.
func (p listPart[T]) Want() string { return p.says }

// Decode makes an item for every entry, also for wrong ones, because package hooks
// reports mistakes by index.
func (p listPart[T]) Decode(d *Decoder, key, n *Node) {
	*p.to = List[T]{At: n}
	if n.Kind != ListKind {
		d.Wrong(key, n, p.says)
		return
	}
	p.to.Items = make([]T, len(n.Items))
	for i, item := range n.Items {
		p.part(&p.to.Items[i]).Decode(d, entryKey(key), item)
	}
}

// entryKey names the entries of a list in messages.
func entryKey(key *Node) *Node {
	return &Node{Kind: TextKind, Text: "an entry of " + key.Text, At: key.At}
}

// uniqueTexts is a list of texts without repetitions.
type uniqueTexts struct{ listPart[Value[string]] }

// Decode refuses repetitions, which are mistakes in lists of names, and lists that are
// too long to be written by a person.
func (p uniqueTexts) Decode(d *Decoder, key, n *Node) {
	p.listPart.Decode(d, key, n)
	if !d.CheckCount(key, n, len(p.to.Items)) {
		p.to.Items = nil
	}
	seen := map[string]bool{}
	for _, item := range p.to.Items {
		if item.V != "" && seen[item.V] {
			d.Fail(item.At.At, "%s names %s twice; keep one", NameOf(key), Quote(item.V))
		}
		seen[item.V] = true
	}
}

// Words returns the texts of a list that are not empty: nil if the spec does not give the
// list, and never nil if it does.
func Words(l List[Value[string]]) []string {
	return slices.DeleteFunc(Arguments(l), func(text string) bool { return text == "" })
}

// Arguments returns the texts of a list as Words does, empty ones too.
func Arguments(l List[Value[string]]) []string {
	if !l.Given() {
		return nil
	}
	out := make([]string, 0, len(l.Items))
	for _, item := range l.Items {
		out = append(out, item.V)
	}
	return out
}

// Entry is one entry of a mapping from names to things.
type Entry[T any] struct {
	Name *Node
	V    T
}

// dictPart takes a mapping from names to things.
type dictPart[T any] struct {
	to   *[]Entry[T]
	part func(*T) Part
	says string
	form NameForm
}

// Dict takes a mapping whose keys are names; thing makes the part for one
// entry's place. says completes "it must be …".
func Dict[T any](to *[]Entry[T], says string, thing func(*T) Part) Part {
	return dictPart[T]{to, thing, says, NameForm{Pattern: NamePattern}}
}

// NameForm is the form of names that others have given, and so are not in the form of a spec's
// own. Rule says it for people: "a name is …".
type NameForm struct{ Pattern, Rule string }

// DictOf is Dict for names of another form.
func DictOf[T any](to *[]Entry[T], says string, form NameForm, thing func(*T) Part) Part {
	return dictPart[T]{to, thing, says, form}
}

// Want returns what the mapping is from and to.
func (p dictPart[T]) Want() string { return p.says }

// Decode keeps entries whose name or value is wrong, so that references to them are not
// reported as further mistakes.
func (p dictPart[T]) Decode(d *Decoder, key, n *Node) {
	if n.Kind != MappingKind {
		d.Wrong(key, n, p.says)
		return
	}
	what := &Node{Kind: TextKind, Text: "a name in " + key.Text}
	for _, pair := range d.Unique(n) {
		if p.form.Rule == "" {
			d.fitName(what, pair.Key)
		} else if ok, _ := regexp.MatchString(p.form.Pattern, pair.Key.Text); !ok {
			d.Fail(pair.Key.At, "%s cannot be %s: %s", NameOf(what), Quote(pair.Key.Text), p.form.Rule)
		}
		e := Entry[T]{Name: pair.Key}
		if pair.Value.Kind == NullKind {
			d.Fail(pair.Key.At, "%s has no value; give it one, or remove it", NameOf(pair.Key))
		} else {
			p.part(&e.V).Decode(d, pair.Key, pair.Value)
		}
		*p.to = append(*p.to, e)
	}
}

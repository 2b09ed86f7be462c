package yaml

// laterPart is a key that this version knows and cannot serve.
type laterPart struct{ hint string }

// Later marks a key that comes with a later version. The hint completes the
// message: what to do until then.
func Later(hint string) Part { return laterPart{hint} }

// Want is never shown: no kind of value is right.
func (p laterPart) Want() string { return "nothing yet" }

// Decode does not look at the value: this version does not know what is right.
func (p laterPart) Decode(d *Decoder, key, _ *Node) {
	d.NotYet(key.At, Clip(key.Text), p.hint)
}

// NotYet reports something that comes with a later version.
func (d *Decoder) NotYet(at Position, what, hint string) {
	if hint == "" {
		hint = "remove it"
	}
	d.Fail(at, "%s: not yet in this version; %s", what, hint)
}

// Schema allows nothing, so that editors mark the key.
func (p laterPart) Schema() *JSON { return Of(*Never()) }

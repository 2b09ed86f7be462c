package notices

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/hooks/web"
)

// SignatureHeader is the header with the signature of a notice.
const SignatureHeader = "Covey-Signature"

// Sign returns the signature of a body at a time: t=UNIX,v1=HEX. HEX is the HMAC-SHA256 of
// UNIX, a point and the body. A server that refuses old times cannot be sent a notice again by
// somebody who has recorded it.
func Sign(secret, body []byte, now time.Time) string {
	at := fmt.Sprint(now.Unix())
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(at + ".")) // never fails
	mac.Write(body)
	return "t=" + at + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// trusted are the permits of a URL that the spec names, and that people have trusted: it may
// lead to this machine and to private networks. Where clouds tell their machines their secrets,
// package web never connects.
type trusted struct{}

// URL allows each URL.
func (trusted) URL(*web.Target) (why string, listed bool) { return "", true }

// Variable allows none.
func (trusted) Variable(string) bool { return false }

// post sends a notice to a webhook once.
func (n *Notices) post(ctx context.Context, rule configs.Notify, notice Notice) error {
	secret, err := secretOf(rule.SecretFile)
	if err != nil {
		return err // people may mend it meanwhile
	}
	body := texts.Encode(notice)
	request := web.Request{URL: rule.Webhook, Headers: map[string]string{
		"User-Agent": "covey-notices", SignatureHeader: Sign(secret, body, n.deps.Clock.Now()),
	}}
	endpoint := request.Prepare(trusted{}, func(string) string { return "" })
	if endpoint.Fault != "" {
		return final("%s", endpoint.Fault)
	}
	timed, cancel := context.WithTimeout(ctx, n.postWithin)
	defer cancel()
	status, trouble := endpoint.Post(timed, web.World{}, body, io.Discard)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case status >= 200 && status <= 299: // whatever became of its body
		return nil
	case status == 0 && timed.Err() != nil:
		return fmt.Errorf("no answer within %v", n.postWithin)
	case status == 0:
		return errors.New(trouble)
	}
	return refused(status)
}

// refused returns the error for an answer that is no success. The text of package web would
// show the URL, which may hold a secret.
func refused(status int) error {
	switch {
	case status >= 300 && status <= 399:
		return final("HTTP %d: redirects are not followed; write the URL that it leads to", status)
	case status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		return fmt.Errorf("HTTP %d", status)
	}
	return final("HTTP %d", status)
}

// hostOf returns the scheme and the host of a URL.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "an unreadable URL"
	}
	return u.Scheme + "://" + u.Host
}

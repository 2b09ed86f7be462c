package gateway

import (
	"net/http"
	"sync"
)

// hosts returns the transport to the hosts of models. It leaves answers packed if they come so: their bytes pass
// unchanged.
var hosts = sync.OnceValue(func() http.RoundTripper {
	usual, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t := usual.Clone()
	t.DisableCompression, t.MaxIdleConnsPerHost = true, 100
	return t
})

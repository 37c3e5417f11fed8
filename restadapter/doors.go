package restadapter

import "net/http"

// preflight answers OPTIONS: which methods there are and, for an accepted page,
// which headers it may send.
func preflight(x *exchange, allow string) {
	h := x.w.Header()
	h.Set("Allow", allow)
	if x.r.Header.Get("Origin") != "" && x.r.Header.Get("Access-Control-Request-Method") != "" {
		h.Set("Access-Control-Allow-Methods", allow)
		h.Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, Idempotency-Key")
		h.Set("Access-Control-Max-Age", "600")
	}
	x.send(http.StatusNoContent, nil)
}

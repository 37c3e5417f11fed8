package restadapter

import (
	"net/http"

	"github.com/reeve-go/reeve/operator"
)

const (
	metricsPath = "/metrics"
	// actionMetrics is the word for a scrape in the record.
	actionMetrics = "metrics"

	mediaMetrics = "text/plain; version=0.0.4; charset=utf-8"
)

var (
	scrapers     = []operator.Kind{operator.KindHuman, operator.KindWorker}
	scrapeScopes = []operator.Scope{operator.ScopeStateRead}
)

// metrics answers a scrape: to a person or a worker, whose credential a scraper can
// hold without being an agent, and which may look at the state.
func (a *adapter) metrics(x *exchange) {
	x.route, x.action, x.quiet = metricsPath, actionMetrics, true
	if x.r.Method == http.MethodOptions {
		preflight(x, "GET, HEAD, OPTIONS")
		return
	}
	if !a.authenticate(x) {
		return
	}
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		x.refuseMethod("GET, HEAD, OPTIONS")
		return
	}
	if refused := a.schedule.PermitOther(x.r.Context(), x.caller, actionMetrics, scrapers, scrapeScopes); refused != nil {
		x.answer(*refused)
		return
	}
	text, err := a.opts.Metrics(x.r.Context())
	if err != nil {
		x.refuse(err)
		return
	}
	x.write(http.StatusOK, mediaMetrics, text)
}

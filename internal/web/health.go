package web

import "net/http"

// healthz says that the process and its loops are alive. It does not ask the
// database: a database that blinks must not restart every replica.
func (o Options) healthz(w http.ResponseWriter, r *http.Request) {
	if err := o.Alive(); err != nil {
		o.Log.ErrorContext(r.Context(), "not alive", "error", err)
		http.Error(w, "not alive", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// readyz says whether the replica can do its work. The reason goes to the log,
// not to whoever asks.
func (o Options) readyz(w http.ResponseWriter, r *http.Request) {
	if err := o.Ready(r.Context()); err != nil {
		o.Log.WarnContext(r.Context(), "not ready", "error", err)
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ready\n"))
}

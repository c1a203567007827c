package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/workers"
)

// run runs one slot: ?slot=2026-05-30T00:00:00Z or ?key=2026-W22, or the latest
// due one. It answers 200 also when the slot had run before, and says so. A query
// that it does not understand is refused: the latest slot is not a guess to make.
func (o Options) run(w http.ResponseWriter, r *http.Request) {
	request, err := parseRequest(r.URL.RawQuery)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	result, err := o.Run(r.Context(), r.PathValue("name"), request)
	switch {
	case errors.Is(err, workers.ErrUnknown):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.Is(err, workers.ErrBadSlot):
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	case err != nil:
		o.Log.ErrorContext(r.Context(), "run by hand", "name", r.PathValue("name"), "error", err)
		http.Error(w, "the slot failed: see the log of this replica", http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(result)
	}
}

func parseRequest(query string) (workers.Request, error) {
	request := workers.Request{Source: claim.Manual}
	values, err := url.ParseQuery(query)
	if err != nil {
		return request, fmt.Errorf("query: %w", err)
	}
	for name, value := range values {
		switch {
		case len(values) > 1 || len(value) > 1 || value[0] == "":
			return request, errors.New("query: give one slot or one key, or nothing")
		case name == "key":
			request.Key = value[0]
		case name == "slot":
			if request.Slot, err = time.Parse(time.RFC3339, value[0]); err != nil || request.Slot.IsZero() {
				return request, errors.New("slot: write it as 2026-05-30T00:00:00Z")
			}
		default:
			return request, fmt.Errorf("query: %q is neither slot nor key", name)
		}
	}
	return request, nil
}

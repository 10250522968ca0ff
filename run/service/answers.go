// Rollouts over HTTP. docs/service.md lists what there is.

package service

import (
	"encoding/json/v2"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"molt/run/service/queue"
	"molt/traj"
)

const (
	maxBody  = 8 << 20         // bytes of an order
	bodyTime = time.Minute     // that it may take to arrive
	partTime = time.Minute     // that a client may take to accept a piece of an answer
	beatTime = 5 * time.Second // between two signs of life on a stream
)

// desk answers requests.
type desk struct {
	rollouts *rollouts
	most     most
}

// ServeHTTP implements http.Handler.
func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, path, _ := strings.Cut(r.URL.Path, "rollouts")
	id, rest, _ := strings.Cut(strings.Trim(path, "/"), "/")
	if id == "" {
		switch r.Method {
		case http.MethodPost:
			d.submit(w, r)
		case http.MethodGet:
			d.send(w, http.StatusOK, d.rollouts.overview())
		default:
			d.fail(w, http.StatusMethodNotAllowed, "want POST or GET")
		}
		return
	}
	t, ok := d.rollouts.find(id)
	if !ok {
		d.fail(w, http.StatusNotFound, "no task has this id; results are kept for a while only")
		return
	}
	switch r.Method + " " + rest {
	case "GET ":
		d.send(w, http.StatusOK, d.rollouts.status(t))
	case "GET events":
		d.events(w, r, t)
	case "GET results":
		d.results(w, r, t)
	case "POST cancel":
		d.rollouts.stop(t)
		d.send(w, http.StatusOK, d.rollouts.status(t))
	case "DELETE ":
		if !d.rollouts.remove(t) {
			d.fail(w, http.StatusConflict, "rollouts of it have not ended; cancel it first")
			return
		}
		d.send(w, http.StatusOK, map[string]bool{"deleted": true})
	default:
		d.fail(w, http.StatusNotFound, "no such endpoint")
	}
}

func (d *desk) submit(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // where that is not possible, there is no limit
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		d.fail(w, http.StatusRequestEntityTooLarge, "the body is larger than 8 MiB")
		return
	}
	if err != nil {
		d.fail(w, http.StatusBadRequest, "the body did not arrive")
		return
	}
	o, err := readOrder(body, d.most)
	if err != nil {
		d.fail(w, http.StatusBadRequest, strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	t, err := d.rollouts.submit(o)
	switch {
	case errors.Is(err, queue.ErrFull):
		w.Header().Set("Retry-After", "5")
		d.fail(w, http.StatusTooManyRequests, err.Error())
	case errors.Is(err, errShelf):
		d.fail(w, http.StatusInternalServerError, err.Error())
	case errors.Is(err, errEnds):
		d.fail(w, http.StatusServiceUnavailable, err.Error())
	case err != nil:
		d.fail(w, http.StatusBadRequest, strings.ReplaceAll(err.Error(), "\n", "; "))
	default:
		d.send(w, http.StatusAccepted, d.rollouts.status(t))
	}
}

// results are those that there are; with ?wait=SECONDS it waits for all, no longer than that.
func (d *desk) results(w http.ResponseWriter, r *http.Request, t *task) {
	if text := r.URL.Query().Get("wait"); text != "" {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds >= 0 && seconds <= 3600) {
			d.fail(w, http.StatusBadRequest, "wait: want 0 to 3600 seconds")
			return
		}
		d.rollouts.wait(r.Context(), t, time.Duration(seconds*float64(time.Second)))
	}
	status := d.rollouts.status(t)
	var finished []*traj.Rollout
	for _, rollout := range d.rollouts.results(t) {
		if rollout != nil {
			finished = append(finished, rollout)
		}
	}
	if r.URL.Query().Get("format") == "safetensors" {
		meta, err := metadata(t, finished)
		if err != nil {
			d.fail(w, http.StatusInternalServerError, err.Error())
			return
		}
		d.head(w, http.StatusOK, "application/octet-stream")
		_ = writeSafetensors(pieces{w, http.NewResponseController(w)}, meta, finished) // a client that is gone needs no answer
		return
	}
	list := make([]result, len(finished))
	for i, rollout := range finished {
		list[i] = resultOf(rollout)
	}
	d.send(w, http.StatusOK, struct {
		state
		Results []result `json:"results"`
	}{status, list})
}

// events streams a line of JSON for each change, and for each rollout that ends, until all have.
func (d *desk) events(w http.ResponseWriter, r *http.Request, t *task) {
	d.head(w, http.StatusOK, "application/x-ndjson")
	out := pieces{w, http.NewResponseController(w)}
	told := make([]bool, t.order.N)
	beat := time.NewTicker(beatTime)
	defer beat.Stop()
	for {
		changed, status, ended := d.rollouts.news(t, told)
		lines := []any{status}
		for _, e := range ended {
			lines = append(lines, e)
		}
		for _, line := range lines {
			text, err := json.Marshal(line, json.Deterministic(true))
			if err != nil {
				return
			}
			if _, err := out.Write(append(text, '\n')); err != nil {
				return
			}
		}
		if out.control.Flush() != nil || status.Finished == t.order.N {
			return
		}
		select {
		case <-changed:
		case <-beat.C:
		case <-r.Context().Done():
			return
		}
	}
}

// pieces gives a client the same time for each piece, however large the whole is.
type pieces struct {
	w       io.Writer
	control *http.ResponseController
}

func (p pieces) Write(data []byte) (n int, err error) {
	const piece = 256 << 10
	for len(data) > 0 && err == nil {
		_ = p.control.SetWriteDeadline(time.Now().Add(partTime)) // where that is not possible, there is no limit
		var wrote int
		wrote, err = p.w.Write(data[:min(piece, len(data))])
		n, data = n+wrote, data[wrote:]
	}
	return n, err
}

func (d *desk) head(w http.ResponseWriter, status int, kind string) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
}

func (d *desk) send(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":{"message":"the answer cannot be written"}}`)
	}
	d.head(w, status, "application/json")
	_, _ = pieces{w, http.NewResponseController(w)}.Write(append(text, '\n')) // a client that is gone needs no answer
}

func (d *desk) fail(w http.ResponseWriter, status int, message string) {
	d.send(w, status, map[string]any{"error": map[string]string{"message": strings.ToValidUTF8(message, "\uFFFD")}})
}

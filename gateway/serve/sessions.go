// Sessions over HTTP: POST /sessions opens one (with ?format=env it answers with lines for a shell), GET /sessions/ID/export returns
// what it captured, GET /sessions/ID/images/DIGEST an image that it was shown, DELETE /sessions/ID ends it, GET /sessions says
// what all of them have seen.

package serve

import (
	"crypto/subtle"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"molt/gateway/capture"
	"molt/gateway/openai"
	"molt/gateway/wire"
)

// Opened is the answer to POST /sessions.
type Opened struct {
	ID        string `json:"id"`
	Key       string `json:"api_key"`
	Base      string `json:"base_url"`        // for Anthropic clients: they append /v1/messages
	OpenAI    string `json:"openai_base_url"` // for OpenAI clients: they append /chat/completions or /responses
	Model     string `json:"model"`
	ExpiresAt string `json:"expires_at"`
}

func (s *Server) sessions(w http.ResponseWriter, r *http.Request, name string) {
	if p := s.unauthorized(r); p != nil {
		s.fail(w, r, chatWire, p)
		return
	}
	id, rest, _ := strings.Cut(name, "/")
	switch {
	case name == "" && r.Method == http.MethodPost:
		s.open(w, r)
		return
	case name == "" && r.Method == http.MethodGet:
		counts := s.config.Gateway.Counts()
		s.json(w, struct {
			capture.Counts
			Alarm string `json:"alarm,omitzero"`
		}{counts, counts.Alarm()})
		return
	}
	session, ok := s.config.Gateway.Session(id)
	switch {
	case !ok:
		s.fail(w, r, chatWire, &wire.Problem{Class: wire.Missing, Message: "no open session has this id"})
	case rest == "export" && r.Method == http.MethodGet:
		s.json(w, session.Export())
	case strings.HasPrefix(rest, "images/") && r.Method == http.MethodGet:
		s.image(w, r, session, strings.TrimPrefix(rest, "images/"))
	case rest == "" && r.Method == http.MethodDelete:
		if err := session.Close(); err != nil {
			s.fail(w, r, chatWire, &wire.Problem{Class: wire.Broken, Message: err.Error()})
			return
		}
		reply(w, http.StatusOK, []byte(`{"closed":true}`))
	default:
		s.fail(w, r, chatWire, &wire.Problem{Class: wire.Missing, Message: "no such endpoint"})
	}
}

// image answers with the bytes of an image. They come from a client: no browser may take them for anything but an image.
func (s *Server) image(w http.ResponseWriter, r *http.Request, session *capture.Session, digest string) {
	image, ok := session.Image(digest)
	if !ok {
		s.fail(w, r, chatWire, &wire.Problem{Class: wire.Missing, Message: "the session was shown no image with this digest"})
		return
	}
	h := w.Header()
	h.Set("Content-Type", image.Media)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.config.Write)) // where that is not possible, there is no limit
	_, _ = w.Write(image.Data())                                                       // a client that is gone needs no answer
}

// unauthorized says why a request may not touch sessions. Without a token, pages in a browser may not either.
func (s *Server) unauthorized(r *http.Request) *wire.Problem {
	if s.config.Token == "" {
		if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
			return &wire.Problem{Class: wire.Unauthorized, Message: "sessions are not open to web pages"}
		}
		return nil
	}
	if subtle.ConstantTimeCompare([]byte(bearer(r)), []byte(s.config.Token)) != 1 {
		return &wire.Problem{Class: wire.Unauthorized, Message: "the token is missing or wrong"}
	}
	return nil
}

func (s *Server) open(w http.ResponseWriter, r *http.Request) {
	body, done, p := s.body(w, r, http.NewResponseController(w), nil)
	defer done()
	var o capture.Options
	if p == nil && len(body) > 0 {
		if p = wire.Fill(&o, body); p == nil {
			if err := o.Validate(); err != nil {
				p = wire.Badf("", "options of a session: %v", err)
			}
		}
	}
	if p != nil {
		s.fail(w, r, chatWire, p)
		return
	}
	session, err := s.config.Gateway.Open(o)
	if errors.Is(err, capture.ErrFull) {
		s.fail(w, r, chatWire, &wire.Problem{Class: wire.Limited, Message: capture.ErrFull.Error(), Retry: 60})
		return
	}
	if err != nil {
		s.fail(w, r, chatWire, &wire.Problem{Class: wire.Broken, Message: err.Error()})
		return
	}
	opened := s.opened(r, session)
	if r.URL.Query().Get("format") == "env" {
		replyAs(w, "text/plain; charset=utf-8", http.StatusOK, opened.exports())
		return
	}
	s.json(w, opened)
}

// exports are lines for a shell: the variables that clients of either vendor read.
func (o *Opened) exports() []byte {
	var lines []byte
	for _, v := range [][2]string{
		{"OPENAI_BASE_URL", o.OpenAI}, {"OPENAI_API_KEY", o.Key}, {"ANTHROPIC_BASE_URL", o.Base}, {"ANTHROPIC_API_KEY", o.Key}, {"MOLT_SESSION", o.ID},
	} {
		lines = fmt.Appendf(lines, "export %s='%s'\n", v[0], strings.ReplaceAll(v[1], "'", `'\''`))
	}
	return lines
}

func (s *Server) opened(r *http.Request, session *capture.Session) Opened {
	base := address(r) + "/s/" + session.Key
	return Opened{
		ID: session.ID, Key: session.Key, Base: base, OpenAI: base + "/v1", Model: s.config.Gateway.Model(),
		ExpiresAt: time.Unix(session.Expires, 0).UTC().Format(time.RFC3339),
	}
}

func (s *Server) json(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		_, body = openai.Error(&wire.Problem{Class: wire.Broken, Message: err.Error()})
		reply(w, http.StatusInternalServerError, body)
		return
	}
	reply(w, http.StatusOK, body)
}

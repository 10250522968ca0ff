// The server: its limits, its life.

package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"molt/gateway/capture"
)

// Config says how a server answers.
type Config struct {
	Gateway *capture.Gateway
	// Token is what a client must bear to open, list and export sessions. "" lets everybody on this machine.
	Token string
	// Body is the most bytes of a request. Default 64 MiB.
	Body int64
	// Bodies is the most bytes of all requests that are being read at once. Default 1 GiB.
	Bodies int64
	// Read is how long a request may take to arrive. Default 1 min.
	Read time.Duration
	// Write is how long a client may take to accept a piece of a reply. Default 1 min.
	Write time.Duration
	// Alive is how often a stream says that it is alive. Default 3 s; the first time also sends the headers, so that an error
	// that comes earlier has its own status.
	Alive time.Duration
	// Incomplete reports a reply of the Responses wire that was cut by its length as incomplete. Some clients end their run on that.
	Incomplete bool
	// Rollouts answers paths below /rollouts, to those who may open sessions; nil answers none.
	Rollouts http.Handler
	// Log takes one line for each request that failed; nil logs nothing.
	Log *slog.Logger
}

func (c *Config) defaults() error {
	if c.Gateway == nil {
		return errors.New("serve: a server needs a gateway")
	}
	if c.Body < 0 || c.Bodies < 0 || c.Read < 0 || c.Write < 0 || c.Alive < 0 {
		return fmt.Errorf("serve: Body %d, Bodies %d, Read %v, Write %v, Alive %v; want 0 (the default) or more", c.Body, c.Bodies, c.Read, c.Write, c.Alive)
	}
	for _, d := range []struct {
		is        *time.Duration
		otherwise time.Duration
	}{{&c.Read, time.Minute}, {&c.Write, time.Minute}, {&c.Alive, 3 * time.Second}} {
		if *d.is == 0 {
			*d.is = d.otherwise
		}
	}
	if c.Body == 0 {
		c.Body = 64 << 20
	}
	if c.Bodies == 0 {
		c.Bodies = max(1<<30, c.Body)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Server answers HTTP requests. It implements http.Handler.
type Server struct {
	config  Config
	created int64
	bodies  atomic.Int64 // bytes of requests that are being read
}

// New makes a server.
func New(c Config) (*Server, error) {
	if err := c.defaults(); err != nil {
		return nil, err
	}
	return &Server{config: c, created: time.Now().Unix()}, nil
}

// Listen opens a listener. An address that other machines can reach needs a token and TLS.
func Listen(address, token string, secure *tls.Config) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve: listening: %w", err)
	}
	if at, ok := l.Addr().(*net.TCPAddr); (!ok || !at.IP.IsLoopback()) && (token == "" || secure == nil) {
		return nil, errors.Join(fmt.Errorf("serve: listening on %s, which other machines can reach, needs a token and a certificate", address), l.Close())
	}
	if secure != nil {
		return tls.NewListener(l, secure), nil
	}
	return l, nil
}

// Serve answers until ctx ends, then waits for what is running. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return context.WithValue(ctx, listening{}, l.Addr()) },
		ErrorLog:          slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1) // holds what Serve returned, once
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	// Requests end by themselves: their contexts descend from ctx. One that does not is cut off.
	// A connection on which nothing was asked yet counts as idle after 5 s.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return errors.Join(fmt.Errorf("serve: ending: %w", err), server.Close())
	}
	<-ended
	return nil
}

package leg

import (
	"io"

	"molt/metrics"
)

// View is how a run shows itself while it goes on. The zero value shows nothing.
type View struct {
	Talk     io.Writer         // sentences for people; nil is silent
	Progress *metrics.Terminal // fed with every event; nil shows none. Whoever made it runs and closes it
	Command  string            // the command line, for the report
}

// Lines is Talk, or nowhere.
func (v View) Lines() io.Writer {
	switch {
	case v.Progress != nil:
		return v.Progress.Lines()
	case v.Talk != nil:
		return v.Talk
	}
	return io.Discard
}

// sink adapts the progress display to the log of one run: several runs may follow each other on one terminal, so the
// log must not close it.
func (v View) Sinks() []metrics.Sink {
	if v.Progress == nil {
		return nil
	}
	return []metrics.Sink{keptOpen{v.Progress}}
}

type keptOpen struct{ *metrics.Terminal }

// Close implements metrics.Sink.
func (keptOpen) Close() error { return nil }

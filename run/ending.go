// How every run ends: why, what its last events say, and the report.

package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"molt/internal/atomicfile"
	"molt/metrics"
	"molt/run/folder"
	"molt/run/machine"
	"molt/run/problem"
	"molt/web"
)

// interrupted reports whether err only says that ctx has ended.
func interrupted(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() != nil && (errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err()))
}

// stoppedAfter is what an interrupted run says.
func stoppedAfter(f *folder.Folder, step int64, view View, err error) error {
	return &problem.Problem{Code: problem.Interrupted, Where: f.Path, What: fmt.Sprintf("stopped after step %d", step), Fix: "the same command resumes: " + view.Command, Err: err}
}

// ending is the last events of an attempt that ended with err.
func ending(err error, view View, started time.Time, step int64) []metrics.Event {
	ended := metrics.RunEnded{Outcome: "finished", Seconds: time.Since(started).Seconds(), PeakRSSBytes: machine.PeakRSS()}
	if err == nil {
		return []metrics.Event{ended}
	}
	ended.Outcome, ended.Reason, ended.Resume = "failed", err.Error(), view.Command
	p, _ := errors.AsType[*problem.Problem](err)
	switch {
	case p == nil:
	case p.Code == problem.Interrupted:
		ended.Outcome, ended.Reason = "stopped", "interrupted"
	case p.Code == problem.Alarm:
		return []metrics.Event{metrics.Alarm{Name: "run-stopped", Severity: metrics.Critical, Step: step, Sentence: p.Sentence(), Fix: p.Fix}, ended}
	}
	return []metrics.Event{ended}
}

// conclude tells the log the last events and makes report.html.
func conclude(f *folder.Folder, log *metrics.Log, last []metrics.Event) error {
	records, err := metrics.Read(f.File(folder.EventsFile))
	if err != nil {
		return noReport(f, err)
	}
	rollouts, damage := metrics.ReadRollouts(f.File(folder.RolloutsFile), records)
	if damage != nil {
		log.Emit(metrics.Alarm{Name: "kept-rollouts-damaged", Severity: metrics.Warning, Sentence: damage.Error(), Fix: "look after the disk; the report misses these rollouts, nothing else does"})
	}
	for _, e := range last {
		log.Emit(e)
	}
	if records, err = metrics.Read(f.File(folder.EventsFile)); err != nil {
		return noReport(f, err)
	}
	err = atomicfile.WriteFunc(f.File(folder.ReportFile), func(w io.Writer) error {
		return web.Report(w, records, rollouts, web.Options{})
	})
	if err != nil {
		return noReport(f, err)
	}
	return nil
}

func noReport(f *folder.Folder, err error) error {
	return &problem.Problem{Code: problem.Resource, Where: f.File(folder.ReportFile), What: "cannot write the report", Why: problem.Reason(err), Fix: "make room; the same command writes it", Err: err}
}

// closeEvents ends the events and the kept rollouts.
func closeEvents(f *folder.Folder, log *metrics.Log, keeper *metrics.Keeper) error {
	if err := errors.Join(keeper.Close(), log.Close()); err != nil {
		return &problem.Problem{Code: problem.Resource, Where: f.Path, What: "the events of this attempt are not complete", Why: problem.Reason(err), Fix: "make room; the weights and the checkpoints are whole", Err: err}
	}
	return nil
}

// How every run ends: why, what its last events say, and the report.

package leg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"molt/internal/atomicfile"
	"molt/metrics"
	"molt/run/folder"
	"molt/run/machine"
	"molt/run/problem"
	"molt/web"
)

// Interrupted reports whether err only says that ctx has ended.
func Interrupted(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() != nil && (errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err()))
}

// StoppedAfter is what an interrupted run says.
func StoppedAfter(f *folder.Folder, step int64, view View, err error) error {
	return &problem.Problem{Code: problem.Interrupted, Where: f.Path, What: fmt.Sprintf("stopped after step %d", step), Fix: "the same command resumes: " + view.Command, Err: err}
}

// Ending is the last events of a leg that ended with err.
func Ending(err error, view View, started time.Time, step int64) []metrics.Event {
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

// Abandon is the error of a run whose folder may be another's by now: nothing more is written into it. err is why the run ends.
func Abandon(f *folder.Folder, err error) error {
	gone := f.Mine()
	if p, ok := errors.AsType[*problem.Problem](err); ok && gone != nil && p.Code == problem.Busy {
		return err
	}
	if gone != nil {
		return errors.Join(err, gone)
	}
	return nil
}

// Conclude tells the log the last events and makes report.html, of what can be read: damaged events fail no run.
func Conclude(f *folder.Folder, log *metrics.Log, last []metrics.Event) error {
	records, damage := metrics.Salvage(f.File(folder.EventsFile))
	if records == nil {
		return noReport(f, damage)
	}
	damaged(log, damage, metrics.Alarm{Name: "events-damaged", Fix: "look after the disk; the report misses these events, and no weights depend on them"})
	rollouts, damage := metrics.ReadRollouts(f.File(folder.RolloutsFile), records)
	damaged(log, damage, metrics.Alarm{Name: "kept-rollouts-damaged", Fix: "look after the disk; the report misses these rollouts, nothing else does"})
	for _, e := range last {
		log.Emit(e)
	}
	if records, damage = metrics.Salvage(f.File(folder.EventsFile)); records == nil {
		return noReport(f, damage)
	}
	var page bytes.Buffer
	if err := web.Report(&page, records, rollouts, web.Options{}); err != nil {
		return noReport(f, err)
	}
	if err := atomicfile.Write(f.File(folder.ReportFile), page.Bytes()); err != nil {
		return noReport(f, err)
	}
	return nil
}

// damaged raises an alarm about what cannot be read, if there is any.
func damaged(log *metrics.Log, damage error, alarm metrics.Alarm) {
	if damage != nil {
		alarm.Severity, alarm.Sentence = metrics.Warning, metrics.Clean(damage.Error())
		log.Emit(alarm)
	}
}

func noReport(f *folder.Folder, err error) error {
	return &problem.Problem{Code: problem.Resource, Where: f.File(folder.ReportFile), What: "cannot write the report", Why: problem.Reason(err), Fix: "make room; the same command writes it", Err: err}
}

// CloseEvents ends the events and the kept rollouts.
func CloseEvents(f *folder.Folder, log *metrics.Log, keeper *metrics.Keeper) error {
	if err := errors.Join(keeper.Close(), log.Close()); err != nil {
		return &problem.Problem{Code: problem.Resource, Where: f.Path, What: "the events of this leg are not complete", Why: problem.Reason(err), Fix: "make room; the weights and the checkpoints are whole", Err: err}
	}
	return nil
}

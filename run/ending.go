// How every run ends: why, what its last events say, and the report.

package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"molt/internal/atomicfile"
	"molt/internal/spell"
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

// abandon is the error of a run whose folder may be another's by now: nothing more is written into it. err is why the run ends.
func abandon(f *folder.Folder, err error) error {
	gone := f.Mine()
	if p, ok := errors.AsType[*problem.Problem](err); ok && gone != nil && p.Code == problem.Busy {
		return err
	}
	if gone != nil {
		return errors.Join(err, gone)
	}
	return nil
}

// conclude tells the log the last events and makes report.html. A report that cannot be made of damaged events fails no run:
// lost is then the reason.
func conclude(f *folder.Folder, log *metrics.Log, last []metrics.Event) (lost string, err error) {
	rollouts, err := keptRollouts(f, log)
	for _, e := range last {
		log.Emit(e)
	}
	var page []byte
	if err == nil {
		page, err = report(f, rollouts)
	}
	if _, unreadable := errors.AsType[*fs.PathError](err); unreadable {
		return "", noReport(f, err)
	}
	if err != nil {
		lost = damagedEvents(f.File(folder.EventsFile), err).Error()
		log.Emit(metrics.Alarm{Name: "report-not-made", Severity: metrics.Warning, Sentence: "there is no report: " + lost, Fix: "look after the disk; no weights depend on the events"})
		return lost, nil
	}
	if err := atomicfile.Write(f.File(folder.ReportFile), page); err != nil {
		return "", noReport(f, err)
	}
	return "", nil
}

// keptRollouts are those that can be read; an alarm names the others.
func keptRollouts(f *folder.Folder, log *metrics.Log) ([]*metrics.RolloutKept, error) {
	records, err := metrics.Read(f.File(folder.EventsFile))
	if err != nil {
		return nil, err
	}
	rollouts, damage := metrics.ReadRollouts(f.File(folder.RolloutsFile), records)
	if damage != nil {
		log.Emit(metrics.Alarm{Name: "kept-rollouts-damaged", Severity: metrics.Warning, Sentence: metrics.Clean(damage.Error()), Fix: "look after the disk; the report misses these rollouts, nothing else does"})
	}
	return rollouts, nil
}

func report(f *folder.Folder, rollouts []*metrics.RolloutKept) ([]byte, error) {
	records, err := metrics.Read(f.File(folder.EventsFile))
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	err = web.Report(&page, records, rollouts, web.Options{})
	return page.Bytes(), err
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

// reportOr names the report, or says why there is none.
func reportOr(path, lost string) string {
	if lost != "" {
		return "none: " + lost
	}
	return spell.Quoted(path)
}

// One curve: lines in a stretched drawing, labels as text above it, a readout that follows the pointer or the arrow keys.

const AXES = table({ step: ['step', 'Step'], tokens: ['tokens', 'Trained tokens'], seconds: ['seconds', 'Time'] });
const axisText = (kind, v) => kind === 'seconds' ? clock(v) : kind === 'tokens' ? fmt(v) + ' tokens' : 'step ' + v;

// charts on screen, by phase: they share their extent and the place that is read out.
let charts = [];

function extent(phase, kind) {
  let low = Infinity, high = -Infinity;
  for (const a of Object.values(D.axes)) {
    if (a.phase !== phase) continue;
    for (const x of a[kind]) { low = Math.min(low, x); high = Math.max(high, x); }
  }
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

// scaleOf picks the vertical range: shares that use most of it show all of it, others what they need.
function scaleOf(values, unit) {
  const finite = values.filter(Number.isFinite);
  if (!finite.length) return [0, 1];
  let low = Math.min(...finite), high = Math.max(...finite);
  if (unit === 'share' && high > 0.5) return [0, 1];
  if (low >= 0 && (low < high / 2 || unit === 'share' || unit === 'tokens/s')) low = 0;
  if (low === high) return low === 0 ? [0, 1] : low > 0 ? [0, 2 * low] : [2 * low, 0];
  return [low, high];
}

function chart(curve, kind) {
  const a = D.axes[curve.axis], xs = a[kind], ys = (curve.y || []).map(v => v === null ? NaN : num(v));
  const [x0, x1] = extent(a.phase, kind), [y0, y1] = scaleOf(ys, curve.unit), say = unitFormat(curve.unit);
  const px = x => 1000 * (x - x0) / (x1 - x0), py = y => 300 - 300 * (y - y0) / (y1 - y0);
  const sparse = xs.length <= 60;
  let path = '', dots = '', pen = false;
  ys.forEach((y, i) => {
    if (!Number.isFinite(y)) { pen = false; return; }
    const at = `${px(xs[i]).toFixed(1)} ${py(y).toFixed(1)}`;
    path += (pen ? 'L' : 'M') + at;
    if (sparse) dots += `M${at}h0`;
    pen = true;
  });
  const last = ys.findLastIndex(y => !Number.isNaN(y)), first = ys.findIndex(y => !Number.isNaN(y));
  const marks = marksOf(a.phase, kind, px);
  const cross = el('line.cross', { y1: 0, y2: 300 }), spot = el('path.spot');
  const svg = el('svg', { viewBox: '0 0 1000 300', preserveAspectRatio: 'none', 'aria-hidden': true },
    [0, 150, 300].map(y => el('line.grid', { x1: 0, x2: 1000, y1: y, y2: y })), marks.lines, cross,
    el('path.curve', { d: path }), el('path.dots', { d: dots }), spot);
  const value = el('output', {}), where = el('span.where', {});
  const bad = ys.filter(y => Number.isNaN(y) || !Number.isFinite(y)).length - curve.y.filter(v => v === null).length;
  const node = el('figure.chart', {
    tabindex: 0, role: 'img', title: curve.about,
    'aria-label': `${curve.title}: from ${say(ys[first])} to ${say(ys[last])}. ${curve.about}. Arrow keys read values${a.phase === 'rl' ? ', Enter lists the rollouts of the step' : ''}.`,
    onkeydown: e => chartKey(e, self), onblur: () => read(a.phase, null),
  },
  el('figcaption', {}, el('span.title', {}, visible(curve.title)), value, el('span.unit', {}, curve.unit === 'share' ? '' : curve.unit)),
  el('div.plot', { onpointermove: e => read(a.phase, at(e)), onpointerleave: () => read(a.phase, null), onclick: e => open(nearest(at(e))) },
    svg, el('span.high', {}, say(y1)), el('span.low', {}, say(y0)), marks.signs),
  el('div.below', {}, el('span', {}, axisText(kind, x0 % 1 ? xs[0] : x0)), where, el('span', {}, axisText(kind, x1 % 1 ? xs[0] : x1))));
  if (bad > 0) node.append(el('p.warn', {}, `${plural(bad, 'point')} not finite, left out`));
  if (a.every > 1) node.append(el('p.quiet', {}, `every ${a.every}th point is drawn`));
  const plot = node.querySelector('.plot');
  const at = e => { const box = plot.getBoundingClientRect(); return x0 + (x1 - x0) * (e.clientX - box.left) / box.width; };
  const nearest = x => xs.reduce((best, v, i) => Number.isNaN(ys[i]) || Math.abs(v - x) >= Math.abs(xs[best] - x) && !Number.isNaN(ys[best]) ? best : i, first);
  const open = i => { if (a.phase === 'rl') location.hash = link('rollouts', { step: a.step[i] }); };
  // show reads out the point nearest to x, or the last one.
  const show = x => {
    const i = x === null ? last : nearest(x);
    if (i < 0) return;
    value.textContent = say(ys[i]);
    where.textContent = x === null ? '' : `${axisText(kind, xs[i])} · event ${a.seq[i]}`;
    const on = x !== null && Number.isFinite(ys[i]);
    cross.setAttribute('class', on ? 'cross on' : 'cross');
    for (const end of ['x1', 'x2']) cross.setAttribute(end, px(xs[i]));
    spot.setAttribute('d', on ? `M${px(xs[i])} ${py(ys[i])}h0` : '');
    self.index = i;
  };
  const self = { node, phase: a.phase, xs, show, open, index: last };
  show(null);
  charts.push(self);
  return node;
}

function read(phase, x) { for (const c of charts) if (c.phase === phase) c.show(x); }

function chartKey(e, chart) {
  const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[e.key];
  if (e.key === 'Enter') chart.open(chart.index);
  if (step === undefined) return;
  e.preventDefault();
  read(chart.phase, chart.xs[Math.max(0, Math.min(chart.xs.length - 1, chart.index + step))]);
}

// marksOf draws resumes as dashed lines and alarms as signs below the curve; both say what they are.
function marksOf(phase, kind, px) {
  const inside = m => m.phase === phase;
  const lines = D.legs.slice(1).filter(inside).map(m => el('line.resume', { x1: px(m[kind]), x2: px(m[kind]), y1: 0, y2: 300 },
    el('title', {}, `leg ${m.leg} resumed here`)));
  const signs = D.alarms.filter(inside).map(m => el('span.sign.' + (m.event.severity === 'critical' ? 'bad' : 'warn'),
    { vars: { '--at': px(m[kind]) / 1000 }, title: `alarm ${m.event.name} at step ${m.event.step}` }, '▲'));
  return { lines, signs };
}

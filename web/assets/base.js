// The data, the address of the current view, and the few helpers that everything below uses.

const D = JSON.parse(document.getElementById('data').textContent);

// el makes an element. Text is always a text node: nothing from the data is ever parsed as markup.
const SVG = 'http://www.w3.org/2000/svg';
function el(tag, props = {}, ...children) {
  const [name, ...classes] = tag.split('.');
  const svg = ['svg', 'path', 'line', 'g', 'title'].includes(name);
  const node = svg ? document.createElementNS(SVG, name) : document.createElement(name);
  if (classes.length) node.setAttribute('class', classes.join(' '));
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key === 'vars') for (const [v, x] of Object.entries(value)) node.style.setProperty(v, x);
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter(c => c !== null && c !== undefined && c !== false));
  return node;
}

// visible spells characters that would hide, reorder or overprint text; newlines and tabs stay.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
function visible(text) {
  return String(text).replace(UNSEEN, c => {
    const code = c.codePointAt(0).toString(16);
    return code.length > 2 ? '\\u' + code.padStart(4, '0') : '\\x' + code.padStart(2, '0');
  });
}

// table makes rows that are found by name and by nothing else: an address or a filter may ask for "toString".
const table = rows => Object.assign(Object.create(null), rows);

// Numbers that JSON cannot spell are the strings NaN, Infinity and -Infinity.
const num = v => v === null || v === undefined ? null : Number(v);

// fmt gives about four digits that matter.
function fmt(value) {
  const v = num(value);
  if (v === null) return '–';
  if (!Number.isFinite(v)) return String(v);
  const a = Math.abs(v);
  if (Number.isInteger(v) && a < 1e5) return minus(String(v));
  const text = a >= 1e6 ? (v / 1e6).toFixed(2) + 'M' : a >= 1e4 ? (v / 1e3).toFixed(1) + 'k' : a >= 100 ? v.toFixed(0) :
    a >= 10 ? v.toFixed(1) : a >= 1e-3 ? v.toFixed(3) : v.toExponential(1);
  return minus(text);
}
const minus = text => text.replace(/-/g, '−');
const signed = v => v === null || v === undefined ? '–' : (num(v) > 0 ? '+' : '') + fmt(v);
const percent = v => num(v) === null ? '–' : (100 * num(v)).toFixed(1) + ' %';
const clock = s => {
  const t = Math.round(s), p = n => String(n).padStart(2, '0');
  return t < 3600 ? `${Math.floor(t / 60)}:${p(t % 60)}` : `${Math.floor(t / 3600)}:${p(Math.floor(t / 60) % 60)}:${p(t % 60)}`;
};
const duration = s => !num(s) ? '–' : num(s) < 1 ? fmt(1000 * num(s)) + ' ms' : fmt(s) + ' s';
const bytes = n => n < 1024 ? n + ' B' : n < 1048576 ? (n / 1024).toFixed(1) + ' KiB' : n < 1073741824 ? (n / 1048576).toFixed(1) + ' MiB' : (n / 1073741824).toFixed(1) + ' GiB';
const plural = (n, one) => n === 1 ? '1 ' + one : `${fmt(n)} ${one}s`;
const byValue = counts => Object.entries(counts || {}).filter(([, n]) => n).sort((a, b) => b[1] - a[1]);
const date = t => new Date(t).toISOString().slice(0, 19).replace('T', ' ') + ' UTC';
const unitFormat = unit => unit === 'share' ? percent : fmt;
const event = seq => `event ${seq} of events.jsonl`;

// The view is in the address: #view?key=value. A reload or a shared link shows the same thing.
function address() {
  const [view, query] = location.hash.slice(1).split('?');
  return { view: view || 'overview', query: new URLSearchParams(query || '') };
}
function link(view, params = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, v]) => v !== '' && v !== null && v !== undefined));
  return '#' + view + (String(query) ? '?' + String(query).replaceAll('%2F', '/').replaceAll('%3A', ':') : '');
}
// amend changes parts of the address without a new entry in the history.
function amend(changes) {
  const { view, query } = address();
  history.replaceState(null, '', link(view, { ...Object.fromEntries(query), ...changes }));
}

// Rollouts, with what the table asks about each.
const runs = list => list ? list.flatMap(([v, n]) => Array(n).fill(v)) : null;
// A rollout is named as on the command line: 12/3/0, or held_out:12/3/0.
const nameOf = r => `${r.split === 'train' ? '' : r.split + ':'}${r.step}/${r.group}/${r.sample}`;
D.rollouts.forEach((r, i) => {
  r.index = i;
  r.name = nameOf(r);
  r.turns = r.nodes.length;
  r.size = r.tokens.id.length;
  r.tools = r.messages.flatMap(m => (m.calls || []).map(c => c.name));
  const { logp_old: old, logp_gen: gen } = r.tokens;
  r.mismatch = old ? Math.exp(old.reduce((most, v, t) => Math.max(most, Math.abs(num(v) - num(gen[t]))), 0)) : null;
});
const rolloutNamed = name => D.rollouts.find(r => r.name === name);
const groupOf = r => D.rollouts.filter(o => o.group === r.group && o.step === r.step && o.split === r.split).sort((a, b) => a.sample - b.sample);
const trained = r => r.advantage !== undefined && r.advantage !== null;

// Small parts of pages.
const pill = (text, kind) => el('span.pill' + (kind ? '.' + kind : ''), {}, visible(text));
const outcomeKinds = table({ completed: 'good', truncated: 'warn', finished: 'good', stopped: 'warn', unfinished: 'warn', failed: 'bad' });
const outcomeKind = o => outcomeKinds[o] || 'bad';
const outcome = o => pill(o, outcomeKind(o));

// bar shows a number from 0; a negative one grows to the left, and the sign is in the number beside it.
function bar(value, most, twoSided) {
  const v = num(value);
  if (v === null || !most) return el('span.bar' + (twoSided ? '.two' : ''), { 'aria-hidden': true });
  const share = Math.min(1, Math.abs(v) / most);
  return el('span.bar' + (twoSided ? '.two' : '') + (v < 0 ? '.minus' : '.plus'), { 'aria-hidden': true, vars: { '--share': share } }, el('i'));
}

// copyButton copies text; where the browser does not allow it, it shows the text to be copied by hand.
function copyButton(label, text) {
  const button = el('button.small', { type: 'button' }, label);
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = 'copied';
      setTimeout(() => { button.textContent = label; }, 1200);
    } catch {
      const area = el('textarea', { readonly: true, rows: 12, 'aria-label': label });
      area.value = text();
      openDialog('Copy this text', area);
      area.select();
    }
  });
  return button;
}

function openDialog(title, ...content) {
  const dialog = el('dialog', { 'aria-label': title, onclose: () => dialog.remove() },
    el('header', {}, el('h2', {}, title), el('button.small', { type: 'button', onclick: () => dialog.close() }, 'close')), ...content);
  document.body.append(dialog);
  dialog.showModal();
}

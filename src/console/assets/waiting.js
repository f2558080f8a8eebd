// What waits: the list on the left, one request whole on the right, and answers.
import { $, bytes, fill, h, lasting, spelled, t, tell, when } from './dom.js';
import { api, count, now, state } from './app.js';

const HEAD = 40, TAIL = 15; // lines that are shown of a long text before it is unfolded
const PATHS = 6; // of those that were judged: the others are one press away
const LINE_HEAD = 900, LINE_TAIL = 300; // characters of a long line
const SETTLE = 350; // a key that was meant for what stood here before does not answer what stands here now

let requests = [], known = new Set(), first = true, asking = false, again = false;
let list, detail, filter = '';
let open = null; // { code, request, at, folds, unseen }
let selected = null;

const name = (r) => (r.server ? r.server + '/' : '') + r.tool;

// ---- Looking ----

export async function look() {
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  do {
    again = false;
    try {
      take((await api('waiting')).requests);
    } catch (refused) {
      if (refused.status === 401) break;
      await new Promise((done) => setTimeout(done, 500));
    }
  } while (again && state.session);
  asking = false;
}

function take(all) {
  const fresh = all.filter((r) => !known.has(r.number));
  requests = all;
  known = new Set(all.map((r) => r.number));
  count(all.length);
  if (fresh.length && !first) tell(t('waiting.new', { n: fresh.length, name: name(fresh[fresh.length - 1]) }));
  first = false;
  if (state.view?.isWaiting) draw();
  if (open && !open.answered) {
    const r = all.find((one) => one.number === open.request?.number);
    if (!r && open.request?.state === 'waiting') load(open.code);
    else if (r && (r.given !== open.request.given || r.scope !== open.request.scope)) load(open.code);
  }
}

// ---- The list ----

const passes = (r) => !filter || [name(r), r.rule, r.channel, r.thread, r.code, r.begin].some((text) => text && text.toLowerCase().includes(filter.toLowerCase()));
const shown = () => requests.filter(passes);

function bar(r) {
  return h('progress', { max: r.expires - r.created, value: Math.max(0, r.expires - now()), 'aria-label': t('left'), 'data-expires': r.expires });
}

function item(r) {
  return h('li', {}, h('a', { href: '#/waiting/' + r.code, 'data-code': r.code, 'aria-current': open?.code === r.code ? 'true' : null },
    h('span', { class: 'name' }, spelled(name(r))),
    h('span', { class: 'begin' }, spelled(r.begin)),
    h('span', { class: 'quiet' }, r.rule, ' · ', h('span', { 'data-left': r.expires }, lasting(r.expires - now())),
      r.needed > 1 ? ' · ' + t('votes', { given: r.given, needed: r.needed }) : ''),
    bar(r)));
}

function draw() {
  const held = document.activeElement?.dataset?.code;
  const all = shown();
  fill(list, ...all.map(item));
  $('none').hidden = all.length > 0;
  $('none').textContent = requests.length ? t('waiting.filtered', { n: requests.length }) : t('waiting.none');
  if (held) list.querySelector(`[data-code="${held}"]`)?.focus({ preventScroll: true });
}

setInterval(() => {
  for (const element of document.querySelectorAll('[data-left]')) element.textContent = lasting(element.dataset.left - now());
  for (const element of document.querySelectorAll('progress[data-expires]')) element.value = Math.max(0, element.dataset.expires - now());
}, 1000);

// ---- One request, whole ----

async function load(code) {
  let r;
  try {
    r = await api('request?code=' + encodeURIComponent(code));
  } catch (refused) {
    if (!open || open.code !== code) return;
    open = { code, request: null, at: performance.now(), folds: [] };
    fill(detail, back(), h('p', { class: 'failed' }, refused.why === 'gone' ? t('waiting.gone', { code }) : refused.text));
    return;
  }
  if (!open || open.code !== code) return;
  const same = open.request?.number === r.number;
  if (!same || r.state !== 'waiting' || open.request.shown !== r.shown) {
    open = { code, request: r, at: performance.now(), folds: [] };
    drawDetail(r);
  } else {
    open.request = { ...r, lines: open.request.lines };
    drawFacts(r);
    drawAnswers(r);
  }
}

function back() {
  return h('p', { class: 'back' }, h('a', { href: '#/waiting' }, '← ' + t('waiting.all')));
}

const fact = (key, ...value) => [h('dt', {}, t('fact.' + key)), h('dd', {}, value)];

function drawFacts(r) {
  const w = r.where;
  fill($('facts'),
    ...fact('rule', h('b', {}, r.rule), w ? [' ', h('span', { class: 'quiet' }, w.file + ':' + w.line)] : [' ', h('span', { class: 'quiet' }, t('fact.rule-unknown'))]),
    ...(w?.reason ? fact('reason', w.reason) : []),
    ...fact('actor', t('actor.' + r.actor), ' · ', t('fact.session'), ' ', spelled(r.channel || '–'), ' ', spelled(r.thread || ''), ' · ', when(r.created)),
    ...fact('left', h('span', { 'data-left': r.expires }, lasting(r.expires - now())), ' ', bar(r)),
    ...(r.client ? fact('client', r.client > now() ? t('client.waits', { left: lasting(r.client - now()) }) : t('client.gone')) : []),
    ...(r.groups.length ? fact('groups', r.groups.join(', ')) : []),
    ...(r.needed > 1 ? fact('votes', t('votes', { given: r.given, needed: r.needed })) : []));
}

// The paths as they were judged, where the call has them otherwise: the first ones, the others folded.
function drawPaths(r) {
  const paths = r.paths.filter((p) => !p.written).map((p) => h('li', {}, h('code', {}, spelled(p.path))));
  if (!paths.length) return null;
  const rest = paths.slice(PATHS);
  return h('section', { class: 'paths' }, h('h2', {}, t('fact.paths')), h('ul', { class: 'plain' }, paths.slice(0, PATHS)),
    rest.length ? h('details', {}, h('summary', {}, t('fold.paths', { n: rest.length })), h('ul', { class: 'plain' }, rest)) : null);
}

function covers(r, scope) {
  const also = scope === 'session' ? r.alsoRule : scope === 'call' ? r.alsoCall : [];
  const text = t('covers.' + scope, { rule: r.rule, channel: r.channel, thread: r.thread, ttl: lasting(r.ttl) });
  return text + (also.length ? ' ' + t('covers.also', { n: also.length, codes: also.join(', ') }) : '');
}

const SCOPES = [['once', 'o'], ['call', 'c'], ['session', 'a']];
const allowed = (r) => SCOPES.filter(([scope]) => scope === 'once' || r.scope === 'session' || scope === r.scope);

function drawAnswers(r) {
  const box = $('answers');
  if (r.state !== 'waiting') {
    fill(box, h('p', { class: 'result' }, t('ended.' + r.state), r.because ? ' ' + t('ended.because', { because: r.because }) : ''));
    return;
  }
  const reason = h('input', { id: 'because', maxlength: 900, 'aria-label': t('refuse.because') });
  fill(box,
    h('h2', {}, t('answers')),
    open.counted ? h('p', { class: 'result' }, open.counted) : r.whole ? h('div', { class: 'approve' }, allowed(r).map(([scope, key]) => h('div', {},
      h('button', { class: 'yes', 'data-scope': scope, 'aria-describedby': 'covers-' + scope, onclick: () => approve(scope) }, t('approve.' + scope), ' ', h('kbd', { 'aria-hidden': true }, key)),
      h('p', { id: 'covers-' + scope, class: 'quiet' }, covers(r, scope))))) : h('p', { class: 'failed', role: 'alert' }, t('not-whole')),
    h('div', { class: 'refuse' },
      h('button', { class: 'no', onclick: () => answer(false) }, t('refuse'), ' ', h('kbd', { 'aria-hidden': true }, 'r')),
      h('form', { class: 'row', onsubmit: (event) => {
        event.preventDefault();
        answer(false, null, reason.value.trim());
      } }, reason, h('button', {}, t('refuse.with'), ' ', h('kbd', { 'aria-hidden': true }, 'e')))),
    r.needed > 1 ? h('p', { class: 'quiet' }, t('answers.quorum', { needed: r.needed, given: r.given })) : null);
  reason.placeholder = t('refuse.because');
}

function drawDetail(r) {
  const lines = r.lines ? h('div', { class: 'call', id: 'call', tabindex: 0, 'aria-label': t('call') }) : null;
  fill(detail, back(),
    h('h1', { id: 'request', tabindex: -1 }, spelled(name(r)), ' ', h('code', { class: 'code' }, r.code)),
    h('dl', { class: 'facts', id: 'facts' }),
    h('div', { id: 'paths' }),
    ...(lines ? [h('h2', {}, t('call'), ' ', h('span', { class: 'quiet' }, bytes(r.bytes))), lines] : []),
    h('section', { id: 'answers', class: 'answers' }));
  if (r.lines) {
    drawFacts(r);
    drawLines(lines, r.lines);
    fill($('paths'), drawPaths(r));
  } else {
    fill($('facts'), ...fact('rule', r.rule), ...fact('session', r.channel, ' ', r.thread));
  }
  drawAnswers(r);
  if (matchMedia('(max-width: 55rem)').matches) $('request').focus();
}

// ---- The lines of a call: folded where they are many, and never left out ----

function fold(into, parts, label, before) {
  const button = h('button', { class: 'fold', onclick: () => unfold() }, label, ' ', h('kbd', { 'aria-hidden': true }, 'u'));
  const unfold = () => {
    button.replaceWith(...parts());
    open.folds = open.folds.filter((one) => one !== unfold);
  };
  open.folds.push(unfold);
  into.insertBefore(button, before || null);
}

function drawLine([kind, text]) {
  const row = h('div', { class: 'line ' + ({ n: 'is-name', '-': 'is-removed', '+': 'is-added', c: 'is-note' }[kind] || 'is-plain') });
  const named = kind === 'n' && text.length < 4000 ? /^(\s*(?:[^:]{1,80}|\d+\.)(?::|\.)\s?)(.*)$/s.exec(text) : null;
  if (text.length > LINE_HEAD + LINE_TAIL + 200) {
    const middle = text.slice(LINE_HEAD, -LINE_TAIL);
    row.append(text.slice(0, LINE_HEAD), text.slice(-LINE_TAIL));
    fold(row, () => [middle], t('fold.characters', { n: middle.length }), row.lastChild);
  } else if (named) {
    row.append(h('span', { class: 'key' }, spelled(named[1])), ...spelled(named[2]));
  } else {
    row.append(...spelled(text));
  }
  return row;
}

function chunks(lines) {
  const parts = [];
  for (let at = 0; at < lines.length; at += 200) parts.push(h('div', { class: 'chunk' }, lines.slice(at, at + 200).map(drawLine)));
  return parts;
}

function drawLines(into, lines) {
  if (lines.length <= HEAD + TAIL + 10) {
    into.append(...lines.map(drawLine));
    return;
  }
  const middle = lines.slice(HEAD, -TAIL);
  into.append(...lines.slice(0, HEAD).map(drawLine));
  fold(into, () => chunks(middle), t('fold.lines', { n: middle.length }));
  into.append(...lines.slice(-TAIL).map(drawLine));
}

function unfoldAll() {
  for (let rounds = 0; open?.folds.length && rounds < 5; rounds++) for (const unfold of [...open.folds]) unfold();
}

// ---- Answers ----

function approve(scope) {
  if (open.counted) return;
  if (open.folds.length) { // a yes is to what was seen
    unfoldAll();
    tell(t('unfolded'), true);
    $('call').focus();
    return;
  }
  answer(true, scope);
}

async function answer(yes, scope, because) {
  const r = open?.request;
  if (!r || r.state !== 'waiting' || open.answered) return;
  const own = open;
  own.answered = true;
  tell('');
  for (const button of detail.querySelectorAll('button')) button.disabled = true;
  try {
    const done = await api('answer', { code: r.code, number: r.number, yes, scope: scope || undefined, shown: r.shown, because: because || undefined });
    const also = done.also.length ? ' ' + t(yes ? 'done.released' : 'done.refused-too', { n: done.also.length, codes: done.also.join(', ') }) : '';
    const text = t('done.' + done.result, { name: name(r), given: done.given, needed: done.needed }) + (done.result === 'approved' ? ' ' + covers({ ...r, alsoRule: [], alsoCall: [] }, done.scope) : '') + also;
    if (done.result === 'counted') {
      own.counted = text;
      own.answered = false;
      tell(text);
      if (open === own) drawAnswers(r);
    } else if (open !== own) tell(text);
    else fill($('answers'), h('p', { class: 'result', tabindex: -1, id: 'result' }, text), next(r));
    $('result')?.focus();
  } catch (refused) {
    own.answered = false;
    tell(refused.text, true);
    if (open === own) load(r.code);
  }
  look();
}

// What waits next is offered, not opened: a second press of a key must not answer what nobody has seen.
function next(r) {
  const other = shown().find((one) => one.number !== r.number);
  return h('p', {}, other ? h('a', { href: '#/waiting/' + other.code, class: 'button' }, t('waiting.next', { name: name(other) }), ' ', h('kbd', { 'aria-hidden': true }, 'j')) : t('waiting.none'));
}

// ---- The view ----

export const isWaiting = true;

export function show(main, at) {
  list = h('ul', { class: 'requests', 'aria-label': t('view.waiting') });
  detail = h('section', { class: 'detail', 'aria-live': 'off' });
  const search = h('input', { type: 'search', 'data-filter': true, 'aria-label': t('filter'), value: filter, oninput: (event) => {
    filter = event.target.value;
    draw();
  } });
  search.placeholder = t('filter') + ' (/)';
  fill(main, h('div', { class: 'split', id: 'split' },
    h('section', { class: 'list' }, h('h1', { class: 'hidden' }, t('view.waiting')), search, h('p', { id: 'none', class: 'quiet' }), list), detail));
  open = null;
  draw();
  moveTo(at);
  look();
}

export function moveTo(at) {
  const code = at.more;
  $('split').classList.toggle('has-open', Boolean(code));
  if (!code) {
    open = null;
    fill(detail, h('p', { class: 'quiet' }, requests.length ? t('waiting.choose') : ''));
  } else if (open?.code !== code) {
    open = { code, request: null, at: performance.now(), folds: [] };
    fill(detail, back());
    load(code);
  }
  selected = code || selected;
  draw();
}

function step(by) {
  const all = shown();
  if (!all.length) return;
  const at = all.findIndex((r) => r.code === (open?.code || selected));
  const to = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by));
  location.hash = '#/waiting/' + all[to].code;
  list.querySelector(`[data-code="${all[to].code}"]`)?.scrollIntoView({ block: 'nearest' });
}

export function key(event) {
  const ready = open?.request?.state === 'waiting' && !event.repeat && performance.now() - open.at > SETTLE;
  const scope = { o: 'once', c: 'call', a: 'session' }[event.key];
  if (event.key === 'j' || event.key === 'ArrowDown' && !event.target.closest('#call')) step(1);
  else if (event.key === 'k' || event.key === 'ArrowUp' && !event.target.closest('#call')) step(-1);
  else if (event.key === 'Enter' && !open && !event.target.closest('a, button')) step(1);
  else if (event.key === 'Escape' && open) location.hash = '#/waiting';
  else if (scope && ready && open.request.whole && allowed(open.request).some(([one]) => one === scope)) approve(scope);
  else if (event.key === 'r' && ready) answer(false);
  else if (event.key === 'e' && ready) $('because').focus();
  else if (event.key === 'u' && open) unfoldAll();
  else return false;
  return true;
}

// The journal: decisions as they come, one call's events together, why it was decided so, and how many over time.
import { $, fill, h, knows, language, spelled, t, tell, when } from './dom.js';
import { api } from './app.js';
import { explanation } from './rules.js';

const FIELDS = ['text', 'tool', 'rule', 'session'];
let at, list, chart, more, chartAt = 0, moving = false, newest = 0;

const kindOf = (event) => (knows('kind.' + event.kind) ? t('kind.' + event.kind) : event.kind);
const outcome = (event) => (event.outcome ? h('span', { class: 'outcome is-' + event.outcome }, t('outcome.' + event.outcome)) : h('span', { class: 'outcome' }, kindOf(event)));
const name = (event) => (event.server ? event.server + '/' : '') + (event.tool || '');

function row(event) {
  return h('li', {}, h('a', { href: '#/record/' + event.seq + (at.query.size ? '?' + at.query : ''), 'data-seq': event.seq },
    when(Date.parse(event.ts)), ' ', outcome(event), ' ', h('b', {}, spelled(name(event) || '–')),
    event.rule ? h('span', { class: 'quiet' }, ' ', t('by', { rule: event.rule })) : null,
    h('span', { class: 'begin' }, spelled(event.reason ? event.reason + ' ' : ''), spelled(event.begin || event.detail || ''))));
}

function filters() {
  const go = (event) => {
    event?.preventDefault();
    const query = new URLSearchParams();
    for (const field of [...FIELDS, 'outcome']) if ($('f-' + field).value) query.set(field, $('f-' + field).value);
    if ($('f-all').checked) query.set('kind', 'all');
    location.hash = '#/record' + (query.size ? '?' + query : '');
  };
  const input = (field) => [h('label', { for: 'f-' + field }, t('record.' + field)), h('input', { id: 'f-' + field, value: at.query.get(field) || '', 'data-filter': field === 'text', autocapitalize: 'none' })];
  return h('form', { class: 'filters', onsubmit: go, onchange: () => go() },
    FIELDS.map(input),
    h('label', { for: 'f-outcome' }, t('record.outcome')),
    h('select', { id: 'f-outcome' }, ['', 'allow', 'deny', 'require'].map((one) => h('option', { value: one, selected: (at.query.get('outcome') || '') === one }, one ? t('outcome.' + one) : t('record.any')))),
    h('label', { class: 'check' }, h('input', { id: 'f-all', type: 'checkbox', checked: at.query.get('kind') === 'all' }), ' ', t('record.all')),
    h('button', {}, t('filter')));
}

async function fetchList(before) {
  const query = new URLSearchParams(at.query);
  if (before) query.set('before', before);
  query.set('limit', '50');
  return api('record?' + query);
}

async function drawList() {
  const own = at;
  try {
    const { events, next } = await fetchList();
    if (own !== at || !list.isConnected) return;
    newest = events[0]?.seq || 0;
    const focus = document.activeElement?.dataset?.seq;
    fill(list, ...events.map(row));
    if (focus) list.querySelector(`[data-seq="${focus}"]`)?.focus({ preventScroll: true });
    drawMore(next, events.length);
  } catch (refused) {
    tell(refused.text, true);
  }
}

function drawMore(next, count) {
  fill(more, next ? h('button', { onclick: async () => {
    try {
      const older = await fetchList(next);
      list.append(...older.events.map(row));
      drawMore(older.next, older.events.length);
    } catch (refused) {
      tell(refused.text, true);
    }
  } }, t('record.older')) : h('p', { class: 'quiet' }, count || list.children.length ? t('record.end') : t('record.none')));
}

// ---- Over time ----

async function drawChart() {
  chartAt = Date.now();
  try {
    const { since, width, counts } = await api('chart?hours=24');
    const most = Math.max(1, ...counts.map((three) => three[0] + three[1] + three[2]));
    const bars = counts.map((three, i) => {
      let y = 60;
      const title = new Intl.DateTimeFormat(language(), { timeStyle: 'short' }).format(since + i * width) + ': ' + t('chart.bar', { allow: three[0], deny: three[1], require: three[2] });
      return h('g', { svg: true }, h('title', { svg: true }, title), three.map((n, k) => {
        const height = n ? Math.max(1.5, 58 * n / most) : 0;
        y -= height;
        return n ? h('rect', { x: i * 10 + 1, y, width: 8, height, class: 'bar-' + ['allow', 'deny', 'require'][k] }) : null;
      }));
    });
    const sum = [0, 1, 2].map((k) => counts.reduce((all, three) => all + three[k], 0));
    fill(chart,
      h('svg', { viewBox: '0 0 480 62', role: 'img', 'aria-label': t('chart.sum', { allow: sum[0], deny: sum[1], require: sum[2] }), preserveAspectRatio: 'none' }, h('line', { x1: 0, x2: 480, y1: 60.5, y2: 60.5 }), bars),
      h('figcaption', { class: 'quiet' }, h('span', { class: 'is-allow' }, '■ '), t('outcome.allow'), ' ', sum[0], h('span', { class: 'is-deny' }, ' ■ '), t('outcome.deny'), ' ', sum[1], h('span', { class: 'is-require' }, ' ■ '), t('outcome.require'), ' ', sum[2], ' · ', t('chart.day')));
  } catch {
    fill(chart);
  }
}

async function drawChain(again) {
  const box = $('chain');
  if (!box) return;
  try {
    const chain = await api('chain' + (again ? '?again=1' : ''));
    box.className = chain.state === 'broken' || chain.state === 'unreadable' ? 'failed' : 'quiet';
    fill(box, chain.state === 'looking' ? t('chain.looking')
      : chain.state === 'holds' ? t('chain.holds', { n: chain.last, hash: chain.hash.slice(0, 12) })
        : chain.state === 'broken' ? t('chain.broken', { n: chain.last, file: chain.file, line: chain.line, reason: chain.reason }) : t('chain.unreadable', { why: chain.why }),
    chain.state === 'looking' ? '' : [' ', h('button', { onclick: () => drawChain(true) }, t('chain.again'))].flat()[1]);
  } catch (refused) {
    box.textContent = refused.text;
  }
}

// ---- One event ----

const callOf = (event) => Object.fromEntries([['tool', event.toolName], ['server', event.server], ['input', event.input], ['sessionKey', event.sessionKey], ['actor', event.actor]].filter(([, value]) => value !== undefined));

async function drawEvent(into, seq) {
  let found;
  try {
    found = await api('event?seq=' + seq);
  } catch (refused) {
    fill(into, back(), h('p', { class: 'failed' }, refused.text));
    return;
  }
  const { event, joined } = found;
  const why = h('section', { id: 'why' });
  const facts = [['decided', event.ruleId], ['reason', event.reason], ['actor', event.actor && t('actor.' + event.actor)], ['session', event.sessionKey && event.sessionKey.channel + ' ' + event.sessionKey.thread]];
  fill(into, back(),
    h('h1', { tabindex: -1, id: 'event' }, event.outcome ? h('span', { class: 'outcome is-' + event.outcome }, t('outcome.' + event.outcome)) : kindOf(event), ' ', event.server ? event.server + '/' : '', event.toolName || ''),
    h('p', {}, when(Date.parse(event.ts)), ' · ', t('record.number', { seq: event.seq }), ' · ', kindOf(event)),
    h('dl', { class: 'facts' }, facts.filter(([, value]) => value).map(([key, value]) => [h('dt', {}, t('fact.' + key)), h('dd', {}, spelled(value))]),
      event.paths?.length ? [h('dt', {}, t('fact.paths')), h('dd', {}, h('ul', { class: 'plain' }, event.paths.map((path) => h('li', {}, h('code', {}, String(path))))))] : null),
    event.input !== undefined ? [h('h2', {}, t('call')), h('pre', { class: 'call', tabindex: 0 }, JSON.stringify(event.input, null, 2))] : null,
    event.detail !== undefined ? [h('h2', {}, t('record.detail')), h('pre', { class: 'call', tabindex: 0 }, JSON.stringify(event.detail, null, 2))] : null,
    why,
    joined.length ? [h('h2', {}, t('record.joined')), h('ul', { class: 'events' }, joined.map(row))] : null);
  $('event').focus();
  if (event.toolName && event.kind.startsWith('policy.') && event.input !== undefined) {
    why.append(h('h2', {}, t('why.title')), h('p', { class: 'quiet' }, t('why.about')));
    try {
      why.append(explanation(await api('explain', { call: callOf(event) })));
    } catch (refused) {
      why.append(h('p', { class: 'failed' }, refused.text));
    }
  }
}

function back() {
  return h('p', {}, h('a', { href: '#/record' + (at.query.size ? '?' + at.query : '') }, '← ' + t('record.back')));
}

export function show(main, where) {
  at = where;
  newest = 0;
  if (where.more) {
    const section = h('section', { class: 'event' });
    fill(main, section);
    list = null;
    drawEvent(section, where.more);
    return;
  }
  list = h('ul', { class: 'events' });
  chart = h('figure', { class: 'chart' });
  more = h('div', {});
  fill(main, h('h1', {}, t('view.record')), chart, h('p', { id: 'chain', class: 'quiet', role: 'status' }), filters(), list, more);
  drawList();
  drawChart();
  drawChain(false);
}

export function moveTo(where) {
  show($('main'), where);
}

export function moved(event) {
  if (!list?.isConnected) return;
  if (event === 'chain') drawChain(false);
  if (event !== 'record' || moving || list.children.length > 60) return;
  moving = true;
  setTimeout(() => {
    moving = false;
    if (!list?.isConnected) return;
    drawList();
    if (Date.now() - chartAt > 10000) drawChart();
  }, 400);
}

export function key(event) {
  if (!list) {
    if (event.key !== 'Escape') return false;
    location.hash = '#/record' + (at.query.size ? '?' + at.query : '');
    return true;
  }
  const links = [...list.querySelectorAll('a')];
  const by = { j: 1, k: -1 }[event.key];
  if (!by || !links.length) return false;
  links[Math.min(links.length - 1, Math.max(0, links.indexOf(document.activeElement) + by))].focus();
  return true;
}

// Rules in the order in which they act, a call tried on them, and what a changed policy would change.
import { $, fill, h, spelled, t, tell } from './dom.js';
import { api } from './app.js';

// ---- Why a call is decided as it is ----

function decided(decision) {
  return [h('span', { class: 'outcome is-' + decision.kind }, t('outcome.' + decision.kind)), ' ',
    decision.rule ? t('by', { rule: decision.rule }) : '– ' + t('why.no-rule'), decision.reason ? ': ' + decision.reason : ''];
}

function lookedAt(rule) {
  const value = (v) => h('code', {}, spelled(JSON.stringify(v)));
  const where = h('span', { class: 'quiet' }, rule.file + ':' + rule.line);
  if (rule.matched) return h('li', { class: 'matched' }, h('b', {}, rule.rule), ' ', t('why.matches'), ' ', where);
  for (const key of ['stopped', 'noted', 'bare']) if (rule[key] !== undefined) return h('li', {}, h('b', {}, rule.rule), ' ', t('why.' + key), ' ', where);
  return h('li', {}, h('b', {}, rule.rule), ' ', t('why.not'), ' ', h('code', {}, rule.field), rule.argument ? [' ', value(rule.argument)] : null, ' ',
    t('why.wants'), ' ', value(rule.wanted), ', ', rule.absent !== undefined || rule.got === null || rule.got === undefined ? t('why.none') : [t('why.has'), ' ', value(rule.got)], ' ', where);
}

export function explanation(answer) {
  if (answer.failed) return h('p', { class: 'failed' }, answer.failed);
  const readings = answer.readings || [];
  return h('div', { class: 'explanation' },
    h('p', {}, decided(answer.decision)),
    readings.slice(0, 40).map((reading, i) => h('details', { open: i === answer.reading },
      h('summary', {}, t('why.reading', { n: i + 1 }), ' ', h('code', {}, spelled([reading.path, reading.command && JSON.stringify(reading.command), reading.host].filter(Boolean).join(' ') || t('why.plain'))), ' ',
        reading.aside !== undefined ? t('why.aside') : '', ' ', reading.decision ? decided(reading.decision) : ''),
      h('ol', {}, (reading.rules || []).map(lookedAt)))),
    readings.length > 40 ? h('p', { class: 'quiet' }, t('why.more', { n: readings.length - 40 })) : null);
}

// ---- The view ----

let gate = '', main;

function hits(rule) {
  const total = rule.allow + rule.deny + rule.require;
  return total ? t('rules.hits', { n: total }) : t('rules.never');
}

function ruleRow(rule, warnings) {
  const own = warnings.filter((one) => one.rule === rule.rule);
  return h('li', { class: 'card rule' },
    h('p', {}, h('span', { class: 'outcome is-' + { deny: 'deny', auto_approve: 'allow', require_approval: 'require' }[rule.effect] }, t('effect.' + rule.effect)), ' ', h('b', {}, rule.rule), ' ',
      h('span', { class: 'quiet' }, rule.file + ':' + rule.line, ' · ', hits(rule))),
    h('p', {}, h('code', {}, spelled(JSON.stringify(rule.match)))),
    rule.reason ? h('p', { class: 'quiet' }, rule.reason) : null,
    rule.same ? h('p', { class: 'quiet' }, t('rules.same', { rule: rule.same })) : null,
    own.map((one) => h('p', { class: 'warning' }, h('b', {}, one.kind), ' ', one.message)));
}

function tryCall() {
  const call = h('textarea', { id: 'try', rows: 4, spellcheck: 'false', required: true }, '{"tool": "read_file", "input": {"path": "/etc/passwd"}}');
  const out = h('div', { 'aria-live': 'polite' });
  return h('details', { class: 'card' }, h('summary', {}, h('h2', {}, t('rules.try'))),
    h('form', { onsubmit: async (event) => {
      event.preventDefault();
      try {
        fill(out, explanation(await api('explain', { gate: Number(gate) || 0, call: call.value })));
      } catch (refused) {
        fill(out, h('p', { class: 'failed' }, refused.text));
      }
    } }, h('label', { for: 'try' }, t('rules.call')), call, h('button', {}, t('rules.explain'))), out);
}

function side(one) {
  return [h('span', { class: 'outcome is-' + one.kind }, t('outcome.' + one.kind)), ' ', one.rule ? t('by', { rule: one.rule }) : ''];
}

function difference(answer) {
  if (answer.failed) return h('pre', { class: 'failed' }, answer.failed);
  return h('div', {}, answer.violations.map((text) => h('p', { class: 'failed' }, text)),
    answer.classes.length ? null : h('p', {}, t('diff.none')),
    answer.classes.map((one) => h('article', { class: 'card' },
      h('p', {}, h('b', { class: one.weaker ? 'is-deny' : 'is-allow' }, t(one.weaker ? 'diff.weaker' : 'diff.stricter')), ' ', side(one.from), ' → ', side(one.to)),
      h('p', {}, t('diff.calls'), ' ', h('code', {}, spelled(one.match))),
      one.except.length ? h('details', {}, h('summary', {}, t('diff.except', { n: one.excepts })), h('ul', {}, one.except.map((text) => h('li', {}, h('code', {}, spelled(text)))))) : null,
      one.witness ? h('p', {}, t('diff.witness'), ' ', h('code', {}, spelled(one.witness))) : null)),
    answer.count > answer.classes.length ? h('p', { class: 'quiet' }, t('diff.more', { n: answer.count - answer.classes.length })) : null,
    answer.whole ? null : h('p', { class: 'failed' }, t('diff.part')));
}

function compare(files) {
  const file = h('select', { id: 'diff-file' }, files.map((name) => h('option', { value: name }, name)));
  const text = h('textarea', { id: 'diff-text', rows: 6, spellcheck: 'false', required: true });
  const out = h('div', { 'aria-live': 'polite' });
  return h('details', { class: 'card' }, h('summary', {}, h('h2', {}, t('diff.title'))), h('p', { class: 'quiet' }, t('diff.about')),
    h('form', { onsubmit: async (event) => {
      event.preventDefault();
      try {
        fill(out, difference(await api('difference', { gate: Number(gate) || 0, file: file.value, text: text.value })));
      } catch (refused) {
        fill(out, h('p', { class: 'failed' }, refused.text));
      }
    } }, h('label', { for: 'diff-file' }, t('diff.file')), file, h('label', { for: 'diff-text' }, t('diff.text')), text, h('button', {}, t('diff.go'))), out);
}

async function draw() {
  const { gates } = await api('gates').catch(() => ({ gates: [] }));
  const answer = await api('rules' + (gate ? '?gate=' + gate : ''));
  if (!main.isConnected) return;
  const choose = h('select', { id: 'gate', onchange: (event) => { location.hash = '#/rules?gate=' + event.target.value; } },
    gates.map((one) => h('option', { value: one.pid, selected: String(one.pid) === String(answer.gate) }, one.surface + (one.server ? ' · ' + one.server : '') + ' · ' + one.pid)));
  fill(main, h('h1', {}, t('view.rules')),
    gates.length ? h('p', {}, h('label', { for: 'gate' }, t('rules.gate')), ' ', choose) : h('p', { class: 'quiet' }, t('rules.places')));
  if (answer.failed) {
    main.append(h('pre', { class: 'failed' }, answer.failed));
    return;
  }
  if (gates.length && !answer.current) main.append(h('p', { class: 'warning' }, t('rules.changed')));
  const tiers = [...new Set(answer.rules.map((rule) => rule.tier))];
  main.append(tryCall(), compare(answer.files), h('p', { class: 'quiet' }, t('rules.about')),
    ...tiers.map((tier) => h('section', {}, h('h2', {}, t('tier.' + tier)), h('ol', { class: 'plain rules' }, answer.rules.filter((rule) => rule.tier === tier).map((rule) => ruleRow(rule, answer.warnings))))));
}

export function show(into, at) {
  gate = at.query.get('gate') || '';
  main = h('section', {}, h('h1', {}, t('view.rules')));
  fill(into, main);
  draw().catch((refused) => tell(refused.text || String(refused), true));
}

export const moveTo = (at) => show($('main'), at);

// The gates that run, and the approvals that are alive.
import { fill, h, lasting, t, tell, when } from './dom.js';
import { api, now } from './app.js';

function refusal(refused) {
  const lines = [
    ...(refused.violations || []).map((one) => t('gates.violation', { rule: one.newRule, deny: one.existingDeny })),
    ...(refused.errors || []).map((one) => `${one.file}:${one.line}: ${one.message}`),
    ...(refused.weaker || []).map((one) => [t('outcome.' + one.from), ' → ', t('outcome.' + one.to), ': ', h('code', {}, JSON.stringify(one.match)), one.witness ? [' ', t('diff.witness'), ' ', h('code', {}, JSON.stringify(one.witness))] : '']),
  ];
  return h('div', { class: 'failed' }, h('p', {}, h('b', {}, t('gates.refused')), ' ', refused.when ? when(Date.parse(refused.when)) : ''),
    h('ul', {}, lines.slice(0, 50).map((one) => h('li', {}, one))),
    h('p', {}, t('gates.dismiss'), ' ', h('code', {}, 'callgate dismiss')));
}

function card(gate) {
  const policy = gate.policy || {};
  return h('article', { class: 'card' },
    h('h2', {}, gate.surface, gate.server ? ' · ' + gate.server : '', ' ', h('span', { class: 'quiet' }, t('gates.pid', { pid: gate.pid }))),
    h('p', {}, t('gates.since'), ' ', when(Date.parse(gate.started)), ' · ', t('gates.policy', { rules: policy.rules, warnings: policy.warnings, generation: policy.generation }), ' · ',
      h('a', { href: '#/rules?gate=' + gate.pid }, t('gates.rules'))),
    h('ul', { class: 'plain' }, (policy.files || []).map((file) => h('li', {}, h('code', {}, file.file), ' ', h('span', { class: 'quiet' }, file.tier, ' · ', t('gates.file.' + file.state.replace(/\W/g, '-'))), file.why ? h('p', { class: 'failed' }, file.why) : null))),
    h('p', { class: 'quiet digest' }, policy.digest),
    gate.refused ? refusal(gate.refused) : null);
}

let main;

async function draw() {
  try {
    const { gates, gap } = await api('gates');
    if (!main.isConnected) return;
    fill(main, h('h1', {}, t('view.gates')),
      gap ? h('p', { class: 'failed' }, t('gates.gap', { seq: gap })) : null,
      gates.length ? h('div', {}, gates.map(card)) : h('p', { class: 'quiet' }, t('gates.none')));
  } catch (refused) {
    tell(refused.text, true);
  }
}

export function show(into) {
  main = h('section', {});
  fill(into, main);
  draw();
}

let last = 0;
export function moved(name) {
  if (name === 'record' && Date.now() - last > 2000) {
    last = Date.now();
    draw();
  }
}

// ---- Approvals ----

let grantsIn;

async function drawGrants() {
  try {
    const { grants } = await api('grants');
    if (!grantsIn.isConnected) return;
    fill(grantsIn, h('h1', {}, t('view.approvals')), h('p', { class: 'quiet' }, t('approvals.about')),
      grants.length ? h('ul', { class: 'plain cards' }, grants.map((grant) => h('li', { class: 'card' },
        h('b', {}, grant.rule), ' · ', t('fact.session'), ' ', grant.channel, ' ', grant.thread,
        h('p', {}, t('approvals.' + grant.scope), ' ', t('approvals.left'), ' ', h('span', { 'data-left': grant.expires }, lasting(grant.expires - now()))),
        h('button', { class: 'no', onclick: async () => {
          try {
            await api('revoke', { id: grant.id });
            tell(t('approvals.revoked', { rule: grant.rule }));
          } catch (refused) {
            tell(refused.text, true);
          }
          drawGrants();
        } }, t('approvals.revoke'))))) : h('p', {}, t('approvals.none')));
  } catch (refused) {
    tell(refused.text, true);
  }
}

export const approvals = {
  show(into) {
    grantsIn = h('section', {});
    fill(into, grantsIn);
    drawGrants();
  },
  moved(name) {
    if (name === 'waiting') drawGrants();
  },
};

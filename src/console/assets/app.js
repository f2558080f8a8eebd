// The page's frame: who is signed in, which view is shown, keys, and the stream that says when to look again.
import { $, fill, h, knows, setTexts, t, tell } from './dom.js';
import * as signIn from './sign-in.js';
import * as waiting from './waiting.js';
import * as record from './record.js';
import * as rules from './rules.js';
import * as gates from './gates.js';

const VIEWS = { waiting, approvals: gates.approvals, record, rules, gates, you: signIn.you };
const TOKEN = 'callgate-token';

export const state = { session: null, view: null, keys: localStorage.getItem('callgate-keys') !== 'off', offset: 0 };

// ---- Asking ----

// The token stands in this origin's storage, which no other port of this machine can read; the cookie alone is nothing.
export class Refused extends Error {
  constructor(status, why) {
    super(why);
    this.status = status;
    this.why = why;
  }
  get text() {
    return knows('error.' + this.why) ? t('error.' + this.why) : t('error.other', { status: this.status });
  }
}

export async function api(path, body) {
  const headers = { 'X-Callgate': localStorage.getItem(TOKEN) || '' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let answer;
  try {
    answer = await fetch('/api/' + path, { method: body === undefined ? 'GET' : 'POST', headers, body: body === undefined ? undefined : JSON.stringify(body), cache: 'no-store', redirect: 'error' });
  } catch {
    throw new Refused(0, 'unreachable');
  }
  const json = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    if (answer.status === 401 && state.session) leave('error.session');
    throw new Refused(answer.status, json.error || 'other');
  }
  if (json.now) state.offset = json.now - Date.now();
  return json;
}

// The server's clock, in milliseconds.
export const now = () => Date.now() + state.offset;

// ---- Signing in and out ----

export async function enter(session) {
  if (session.token) localStorage.setItem(TOKEN, session.token);
  state.session = session;
  $('head').hidden = false;
  $('who').textContent = session.person || t('nobody', { id: session.id });
  listen();
  if (!location.hash.startsWith('#/')) history.replaceState(null, '', '#/waiting');
  show();
}

export function leave(why) {
  localStorage.removeItem(TOKEN);
  state.session = null;
  state.view = null;
  stream?.abort();
  count(0);
  $('head').hidden = true;
  signIn.show($('main'), why ? t(why) : '');
}

// ---- The stream ----

let stream;

async function listen() {
  stream?.abort();
  const own = new AbortController();
  stream = own;
  for (let pause = 250; !own.signal.aborted; pause = Math.min(pause * 2, 5000)) {
    try {
      const answer = await fetch('/api/events', { headers: { 'X-Callgate': localStorage.getItem(TOKEN) || '' }, signal: own.signal, cache: 'no-store' });
      if (answer.status === 401 || answer.status === 403) return void (state.session && leave('error.session'));
      if (answer.ok) {
        connected(true);
        pause = 250;
        await read(answer.body.pipeThrough(new TextDecoderStream()).getReader());
      }
    } catch {
      // The page's program has ended, or the machine slept: we come again.
    }
    if (own.signal.aborted) return;
    connected(false);
    await new Promise((done) => setTimeout(done, pause));
  }
}

async function read(reader) {
  for (let rest = ''; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split('\n\n');
    rest = parts.pop();
    const names = new Set(parts.map((part) => /^event: (\w+)$/m.exec(part)?.[1]).filter(Boolean));
    for (const name of names) {
      if (name === 'waiting') waiting.look();
      if (state.view?.moved) state.view.moved(name);
    }
  }
}

function connected(is) {
  $('link-state').textContent = is ? '' : t('disconnected');
}

// ---- How many wait, where it is seen without the page ----

export function count(n) {
  document.title = (n ? `(${n}) ` : '') + 'Callgate';
  const tab = document.querySelector('nav a[href="#/waiting"] .count');
  if (tab) tab.textContent = n ? String(n) : '';
  const canvas = h('canvas', { width: 32, height: 32 });
  const draw = canvas.getContext('2d');
  draw.fillStyle = n ? '#b3261e' : '#3c6e47';
  draw.beginPath();
  draw.arc(16, 16, 16, 0, 7);
  draw.fill();
  draw.fillStyle = '#fff';
  draw.font = 'bold 20px sans-serif';
  draw.textAlign = 'center';
  draw.textBaseline = 'middle';
  draw.fillText(n > 99 ? '99' : n ? String(n) : '\u2713', 16, 17);
  $('icon').href = canvas.toDataURL();
}

// ---- Views ----

// "#/record?rule=x" → ["record", "", {rule: "x"}]
export function place() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [view, ...more] = path.split('/');
  return { view: view in VIEWS ? view : 'waiting', more: more.join('/'), query: new URLSearchParams(query) };
}

function show() {
  if (!state.session) return;
  const at = place();
  const view = VIEWS[at.view];
  for (const link of document.querySelectorAll('nav a')) {
    if (link.getAttribute('href') === '#/' + at.view) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const same = state.view === view;
  state.view = view;
  if (same && view.moveTo) view.moveTo(at);
  else view.show($('main'), at);
}

// ---- Keys ----

const typing = (target) => target.closest?.('input, textarea, select') && target.type !== 'checkbox';

function help() {
  const dialog = $('dialog');
  const keys = ['j k', 'Enter', 'o', 'c', 'a', 'r', 'e', 'u', '/', 'Esc', '1 … 6', '?'];
  fill(dialog,
    h('h2', {}, t('keys.title')),
    h('dl', { class: 'keys' }, keys.map((key) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, t('keys.' + key))])),
    h('p', {}, h('label', {}, h('input', { type: 'checkbox', checked: state.keys, onchange: (event) => {
      state.keys = event.target.checked;
      localStorage.setItem('callgate-keys', state.keys ? 'on' : 'off');
    } }), ' ', t('keys.on'))),
    h('form', { method: 'dialog' }, h('button', {}, t('close'))));
  dialog.showModal();
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !state.session || $('dialog').open) return;
  if (typing(event.target)) {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  if (event.key === '?') help();
  else if (!state.keys && event.key !== 'Escape') return;
  else if (event.key >= '1' && event.key <= '6') location.hash = '#/' + Object.keys(VIEWS)[event.key - 1];
  else if (event.key === '/') (document.querySelector('[data-filter]') || $('main')).focus();
  else if (!state.view?.key?.(event)) return;
  event.preventDefault();
});

// ---- Beginning ----

async function begin() {
  setTexts(await (await fetch('/texts.json')).json());
  $('skip').textContent = t('skip');
  $('nav').setAttribute('aria-label', t('views'));
  $('nav').append(...Object.keys(VIEWS).filter((name) => name !== 'you').map((name) =>
    h('a', { href: '#/' + name }, t('view.' + name), name === 'waiting' && h('b', { class: 'count' }))));
  count(0);
  window.addEventListener('hashchange', () => (location.hash.startsWith('#link=') ? arrive() : show()));
  if (location.hash.startsWith('#link=')) return arrive();
  if (!localStorage.getItem(TOKEN)) return leave();
  try {
    await enter(await api('session'));
  } catch (refused) {
    leave(refused.status ? 'error.session' : 'error.unreachable');
  }
}

// A link counts once, and is not kept: not in the history, and never in what the server is asked for.
async function arrive() {
  const link = location.hash.slice(6);
  history.replaceState(null, '', location.pathname);
  try {
    await enter(await api('sign-in/link', { link }));
  } catch (refused) {
    leave(refused.why === 'proof' ? 'error.link' : knows('error.' + refused.why) ? 'error.' + refused.why : 'error.unreachable');
  }
}

begin().catch(() => tell('Callgate: this page cannot be shown.', true));

// Elements out of texts: nothing that a tool sends is ever read as markup, because text is only ever text here.

let texts = {};

export function setTexts(all) {
  texts = all;
  document.documentElement.lang = all.language;
}

// The text of a key, with {names} filled in. With a number `n` it may have a form of its own for one.
export function t(key, values = {}) {
  const text = (values.n === 1 && texts[key + '.one']) || texts[key] || key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

export const knows = (key) => key in texts;
// The reader's own form of the language, where the page has that language: times are written as they are at home.
export const language = () => navigator.languages.find((one) => one.split('-')[0] === texts.language) || texts.language || 'en';

const SVG = 'http://www.w3.org/2000/svg';
const SVG_TAGS = new Set(['svg', 'rect', 'line', 'title', 'g', 'text']);

export function h(tag, properties, ...children) {
  const element = SVG_TAGS.has(tag) && (tag !== 'title' || properties?.svg) && (tag !== 'text' || properties?.svg)
    ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false || name === 'svg') continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value' && 'value' in element && tag !== 'progress') element.value = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat(Infinity).filter(real));
  return element;
}

const real = (child) => child !== null && child !== undefined && child !== false;

// The children of an element, anew. What is null is not there.
export const fill = (element, ...children) => element.replaceChildren(...children.flat(Infinity).filter(real));

export const $ = (id) => document.getElementById(id);

// What every surface spells out stands out, so that nobody takes it for a part of the text.
export function spelled(text) {
  if (text.length > 4000 || !text.includes('\\u{')) return [text];
  return text.split(/(\\u\{[0-9A-F]+\})/).map((part, i) => (i % 2 ? h('span', { class: 'escape' }, part) : part)).filter((part) => part !== '');
}

// ---- Times, in the reader's zone and language ----

export function when(ms) {
  const date = new Date(ms);
  const today = new Date().toDateString() === date.toDateString();
  const options = today ? { timeStyle: 'medium' } : { dateStyle: 'medium', timeStyle: 'medium' };
  return h('time', { datetime: date.toISOString(), title: date.toISOString() }, new Intl.DateTimeFormat(language(), options).format(date));
}

export function lasting(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 100) return t('seconds', { n: seconds });
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? t('minutes', { n: minutes }) : t('hours', { n: Math.round(minutes / 60) });
}

export const bytes = (n) => (n < 1000 ? t('bytes', { n }) : n < 1e6 ? t('kilobytes', { n: Math.round(n / 1000) }) : t('megabytes', { n: (n / 1e6).toFixed(1) }));

let forgets;
export function tell(text, bad = false) {
  const told = $('told');
  told.className = bad ? 'told bad' : 'told';
  told.textContent = text;
  clearTimeout(forgets);
  forgets = setTimeout(() => { told.textContent = ''; }, 8000);
}

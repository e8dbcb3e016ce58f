// What every page does with scripts: ages that stay true, lines that can be copied, filters that follow what is typed.

export const root = document.documentElement.dataset.root ?? '';
export const csrf = document.documentElement.dataset.csrf ?? '';

/** An element with attributes and children; texts become text, never markup. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** Sends a change with what only a page of ours knows. */
export function send(path, body, options = {}) {
  const headers = { 'content-type': 'application/json', 'x-csrf-token': csrf, ...options.headers };
  return fetch(root + path, { method: 'POST', body: JSON.stringify(body), ...options, headers });
}

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** A text of somebody else with nothing in it that hides, as the server writes it. */
export function plain(text) {
  return String(text).replace(HIDDEN, (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`);
}

const MARKS = {
  ready: ['good', '●'], returned: ['good', '●'], completed: ['good', '●'], live: ['good', '●'],
  failing: ['bad', '▲'], failed: ['bad', '▲'], refused: ['warn', '■'],
  connecting: ['busy', '◐'], running: ['busy', '◐'], pending: ['busy', '◐'],
};

/** A word for a state with its mark. */
export function state(word) {
  const [kind, mark] = MARKS[word] ?? ['off', '○'];
  return element('span', { class: `state ${kind}` }, element('span', { class: 'dot', 'aria-hidden': 'true' }, mark), word);
}

export function number(value) {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
}

export function seconds(value) {
  if (value < 0.001) return `${Math.round(value * 1e6)} µs`;
  if (value < 1) return `${(value * 1e3).toFixed(value < 0.01 ? 1 : 0)} ms`;
  return value < 120 ? `${value.toFixed(2)} s` : `${Math.round(value / 60)} min`;
}

function age(at) {
  const past = Math.max(0, Math.floor((Date.now() - at) / 1000));
  if (past < 2) return 'just now';
  if (past < 120) return `${past} s ago`;
  if (past < 7200) return `${Math.floor(past / 60)} min ago`;
  return past < 172800 ? `${Math.floor(past / 3600)} h ago` : `${Math.floor(past / 86400)} days ago`;
}

export function time(rfc3339) {
  return element('time', { datetime: rfc3339, title: rfc3339 }, age(Date.parse(rfc3339)));
}

function keepAgesTrue() {
  for (const shown of document.querySelectorAll('time[datetime]')) {
    const words = age(Date.parse(shown.dateTime));
    if (shown.textContent !== words) shown.textContent = words;
  }
}

/** Gives every block of lines its button. */
export function offerCopies(within = document) {
  for (const button of within.querySelectorAll('.copier')) {
    button.hidden = !navigator.clipboard;
    button.onclick = async () => {
      await navigator.clipboard.writeText(button.previousElementSibling.textContent);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    };
  }
}

/** A list follows what is typed: the server makes it anew, and its address says what is shown. */
function followFilters(form) {
  let asked = 0;
  let waiting;
  const load = async () => {
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ''));
    const address = `${location.pathname}?${query}`;
    const mine = ++asked;
    const answer = await fetch(address, { headers: { accept: 'text/html' } });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    if (mine !== asked || !answer.ok) return;
    history.replaceState(null, '', address);
    const [shown, made] = [document.querySelector('main'), page.querySelector('main')];
    for (const child of [...shown.children].filter((child) => child !== form)) child.remove();
    const own = [...made.children];
    const place = own.findIndex((child) => child.matches('form[data-live]'));
    form.before(...own.slice(0, place));
    form.after(...own.slice(place + 1));
  };
  form.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(load, 150); });
  form.addEventListener('submit', (event) => { event.preventDefault(); clearTimeout(waiting); load(); });
}

document.addEventListener('keydown', (event) => {
  const types = event.target.closest?.('input, textarea, select');
  if (event.key === '/' && !types && !event.ctrlKey && !event.metaKey) {
    const search = document.querySelector('input[type=search]');
    if (search) { event.preventDefault(); search.focus(); }
  }
});

setInterval(keepAgesTrue, 1000);
offerCopies();
document.querySelectorAll('form[data-live]').forEach(followFilters);

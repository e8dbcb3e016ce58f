// Calls as they end. The page takes what the server gives a few times a second, keeps the newest rows, and says how many more
// there were, so that it stays usable at any rate.

import { element, number, plain, root, seconds, state, time } from './console.js';
import { follow } from './events.js';

const table = document.querySelector('#calls');
const body = table.querySelector('tbody');
const most = Number(table.dataset.rows);
const status = { replaceWith: (made) => document.querySelector("#live").replaceWith(made) };
const missed = document.querySelector('#missed');
const pause = document.querySelector('#pause');
let skipped = 0;
let held = [];
let paused = false;

function row(call) {
  const verdict = call.verdict === 'allowed' ? '' : element('span', { class: 'small' }, ` ${call.verdict.replaceAll('_', ' ')}`);
  return element('tr', { class: 'new' },
    element('td', {}, element('a', { href: `${root}console/calls/${call.id}` }, time(call.time))),
    element('td', { class: 'mono' }, call.source ? element('a', { href: `${root}console/tools/${call.tool}` }, plain(call.tool)) : plain(call.tool)),
    element('td', {}, plain(call.caller)),
    element('td', {}, [call.protocol ?? '', call.method ?? ''].filter(Boolean).join(' ')),
    element('td', {}, state(call.outcome), verdict),
    element('td', { class: 'number' }, seconds(call.us / 1e6)));
}

function show(calls) {
  body.prepend(...calls.reverse().slice(0, most).map(row));
  while (body.rows.length > most) body.lastElementChild.remove();
  document.querySelector('#none').hidden = true;
}

function take({ calls, more }) {
  skipped += more;
  missed.textContent = skipped ? `${number(skipped)} more calls are not shown` : '';
  if (paused) {
    held = held.concat(calls).slice(-most);
    pause.textContent = `Continue (${held.length} waiting)`;
  } else {
    show(calls);
  }
}

pause.hidden = false;
pause.addEventListener('click', () => {
  paused = !paused;
  pause.textContent = paused ? 'Continue' : 'Pause';
  if (!paused) { show(held); held = []; }
});

const query = new URLSearchParams(location.search);
query.set('watch', 'calls');
follow(query, { calls: take }, (word) => status.replaceWith(Object.assign(state(word), { id: 'live' })));

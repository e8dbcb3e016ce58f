// The catalogue with 10,000 tools, and the page of live calls while calls come as fast as they can.
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { open } from './server.mjs';

/** A server that lists many tools, of which `t0` is called. */
export const MANY = `
[limits]
tools_per_source = 20000
[sources.Many]
kind = "command"
${Array.from({ length: 10_000 }, (_, place) => `[sources.Many.tools.t${place}]\ndescription = "Tool number ${place} of many, which says what it is given"\ncommand = ["echo", "{text}"]\nparameters.text = { type = "string" }\n`).join('')}`;

/** Sends a thousand calls a second, refused at once, which costs them least, until it is stopped; counts those that were answered. */
function load(base, agent) {
  const counted = { calls: 0, sent: 0 };
  const { hostname, port } = new URL(base);
  const began = Date.now();
  const timer = setInterval(() => {
    while (counted.sent < Date.now() - began && counted.sent - counted.calls < 512) {
      counted.sent += 1;
      const sent = request({ hostname, port, agent, path: '/rest/Many_t0', method: 'POST', headers: { 'content-type': 'application/json' } }, (answer) => {
        answer.resume();
        answer.on('end', () => { counted.calls += 1; });
      });
      sent.on('error', () => {});
      sent.end('{"text":1}');
    }
  }, 5);
  counted.stop = () => clearInterval(timer);
  return counted;
}

/** How long a page takes to draw what a click changes. */
function click(page, selector) {
  return page.evaluate((wanted) => new Promise((resolve) => {
    const began = performance.now();
    setTimeout(() => {
      document.querySelector(wanted).click();
      requestAnimationFrame(() => requestAnimationFrame(() => resolve(Math.round(performance.now() - began))));
    });
  }), selector);
}

export async function scale(browser, { base }) {
  const page = await open(browser, base);
  await page.goto(`${base}/console/sources`);
  await page.waitForSelector('[data-source=Many] .state.good', { timeout: 60_000 });
  const began = Date.now();
  await page.goto(`${base}/console/tools`, { waitUntil: 'load' });
  const first = Date.now() - began;
  assert.match(await page.innerText('#count'), /10.000/);
  assert.ok(first < 1000, `the first view of 10,000 tools took ${first} ms`);
  const typed = Date.now();
  await page.fill('input[type=search]', 'number 9876');
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
  const found = Date.now() - typed;

  await page.goto(`${base}/console/calls`);
  await page.waitForSelector('#live.good');
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const counted = load(base, agent);
  await page.waitForTimeout(5_000);
  const rate = Math.round(counted.calls / 5);
  const answered = await click(page, '#pause');
  assert.match(await page.innerText('#pause'), /^Continue/);
  const rows = await page.$$eval('#calls tbody tr', (found) => found.length);
  counted.stop();
  agent.destroy();
  assert.ok(rows <= 200, `${rows} rows`);
  assert.ok(answered < 500, `a click took ${answered} ms at ${rate} calls/s`);
  assert.match(await page.innerText('#missed'), /more calls are not shown/);
  assert.deepEqual(page.noted.faults, []);
  await page.context().close();
  console.log(`scale: good (first view ${first} ms, search ${found} ms; at ${rate} calls/s a click took ${answered} ms)`);
}

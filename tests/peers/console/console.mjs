// The console in a real browser: every duty as a story, forms for the schemas of real servers, attacks, and how it looks.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { attacks, guessing } from './attacks.mjs';
import { forms } from './forms.mjs';
import { look } from './look.mjs';
import { MANY, scale } from './scale.mjs';
import { CALLERS, KEYS, KIT, api, browse, open, real, signIn, start } from './server.mjs';

const browser = await browse();
const servers = [];
const failed = [];
const run = async (name, config) => { const server = await start(name, config); servers.push(server); return server; };

/** Tells which story failed, with what the page said. */
async function story(name, page, steps) {
  const began = Date.now();
  try {
    await steps();
    if (page) {
      assert.deepEqual(page.noted.elsewhere, [], 'nothing is asked of other hosts');
      assert.deepEqual(page.noted.faults, [], 'no script fails and the policy refuses nothing');
    }
  } catch (error) {
    failed.push(name);
    console.error(`${name}: FAILED\n${error.stack}\n${page?.url()}\n${await page?.innerText('main').catch(() => '')}`.slice(0, 3000));
    return;
  }
  console.log(`${name}: good (${Date.now() - began} ms)`);
}

async function tryTool(page, base, tool, fill = async () => {}) {
  await page.goto(`${base}/console/tools/${tool}`);
  await fill(page);
  await page.click('#call');
  await page.waitForSelector('.result', { timeout: 15_000 });
  return page.innerText('#result');
}

async function stories(base, file) {
  const page = await open(browser, base);
  await story('sign in, and find the page one wanted', page, async () => {
    await page.goto(`${base}/console/tools?q=typed`);
    await page.fill('#key', 'wrong');
    await page.press('#key', 'Enter');
    await page.waitForSelector('[role=alert]');
    await page.goto(`${base}/console/tools?q=typed`);
    await page.fill('#key', KEYS.ops);
    await Promise.all([page.waitForNavigation(), page.press('#key', 'Enter')]);
    assert.match(page.url(), /console\/tools\?q=typed$/);
    const cookie = (await page.context().cookies()).find((one) => one.name === 'toolmux_console');
    assert.ok(cookie.httpOnly && cookie.sameSite === 'Strict');
  });
  await story('search the catalogue by its address', page, async () => {
    await page.fill('input[type=search]', 'schema_map');
    await page.waitForFunction(() => /^Kit_schema_map$/.test([...document.querySelectorAll('tbody th')].map((one) => one.innerText).join()));
    assert.match(page.url(), /q=schema_map/);
    await page.selectOption('select[name=toolset]', 'few');
    await page.waitForFunction(() => document.querySelector('.empty'));
  });
  await story('try a tool: errors at their fields, then a result and its receipt', page, async () => {
    const refused = await tryTool(page, base, 'Kit.typed', async () => {
      await page.fill('[data-path="n"] input', '3');
      await page.click('[data-path="list"] >> text=Add');
      await page.click('text=Add item');
      await page.click('[data-path="list[0].price"] >> text=Add').catch(() => {});
      await page.fill('[data-path="list[0].price"] input', '-1');
    });
    assert.match(refused, /did not run/);
    assert.ok(await page.isVisible('[data-path="n"].wrong .fault'), 'the fault of n is at n');
    assert.ok(await page.isVisible('[data-path="list[0].price"].wrong .fault'), 'and that of a member at the member');
    await page.fill('[data-path="n"] input', '7');
    await page.fill('[data-path="list[0].price"] input', '2');
    await page.click('#call');
    await page.waitForFunction(() => document.querySelector('.result .state.good'));
    await page.click('text=Receipt of this call');
    assert.match(await page.innerText('body'), /validate/);
    await page.click('text=Call again');
    assert.equal(JSON.parse(await page.inputValue('#arguments')).n, 7, 'a replay has the same arguments');
  });
  await story('progress and questions are answered in place', page, async () => {
    assert.match(await tryTool(page, base, 'Kit.steps'), /step 2 of 3[\s\S]*all steps are done/);
    await page.goto(`${base}/console/tools/Kit.ask`);
    await page.click('#call');
    await page.waitForSelector('.question');
    await page.selectOption('.question select', { label: 'green' });
    await page.click('.question >> text=Answer');
    await page.waitForSelector('.result');
    assert.match(await page.innerText('#result'), /accept.*green/);
  });
  await story('what destroys asks first', page, async () => {
    await page.goto(`${base}/console/tools/Kit.drop`);
    await page.fill('[data-path="table"] input', 'users');
    await page.click('#call');
    assert.equal(await page.innerText('#result'), '', 'nothing is called before it is confirmed');
    await page.check('input[name=confirm]');
    await page.click('#call');
    await page.waitForSelector('.result .state.good');
  });
  await story('a call that is cancelled is a cancelled call', page, async () => {
    await page.goto(`${base}/console/tools/Kit.wait`);
    await page.click('#call');
    await page.click('#cancel');
    await page.waitForSelector('#result .notice.bad');
    await page.goto(`${base}/console/calls?tool=Kit.wait`);
    assert.match(await page.innerText('#calls'), /cancelled/);
  });
  await story('live calls are the same as the API and the metrics', page, async () => {
    await page.goto(`${base}/console/calls?tool=Kit.rows`);
    await page.waitForSelector('#live.good');
    await api(base, 'tools/Kit.rows/call', { method: 'POST', body: '{}' });
    await page.waitForFunction(() => document.querySelectorAll('#calls tbody tr').length === 1);
    await page.goto(`${base}/console`);
    const overview = await api(base, 'overview');
    const metrics = await (await fetch(`${base}/metrics`, { headers: { authorization: `Bearer ${KEYS.ops}` } })).text();
    const counted = [...metrics.matchAll(/^toolmux_calls_total\{.*result="returned".*\} (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
    assert.equal(overview.returned, counted);
    assert.equal((await page.innerText('[data-total=returned]')).replace(/\D/g, ''), String(counted));
  });
  await story('a source is killed while one looks, and restarted', page, async () => {
    await page.goto(`${base}/console/sources/Kit`);
    await page.goto(`${base}/console/sources`);
    await page.waitForTimeout(700);
    await api(base, 'tools/Kit.die/call', { method: 'POST', body: '{}' });
    await page.waitForFunction(() => /[1-9]/.test(document.querySelector('[data-source=Kit] [data-cell=failed]').textContent));
    await page.goto(`${base}/console/sources/Kit`);
    await page.check('input[name=confirm]');
    await Promise.all([page.waitForNavigation(), page.click('button:text("Restart")')]);
    assert.match(await page.innerText('.head'), /ready/);
    assert.match(JSON.stringify(await api(base, 'audit')), /source.restarted/);
  });
  await story('a tool says who may call it, why, and how each protocol shows it', page, async () => {
    await page.goto(`${base}/console/tools/Kit.typed`);
    const said = await page.innerText('main');
    assert.match(said, /alice[\s\S]*toolset `few` holds it/);
    for (const protocol of ['MCP', 'OXP', 'OpenTool', 'ATS']) assert.ok(said.includes(protocol), protocol);
    await page.goto(`${base}/console/tools/Kit.media`);
    assert.match(await page.innerText('main'), /alice[\s\S]*toolset `few` does not hold it/);
  });
  await story('connect an agent with a key made for it', page, async () => {
    await page.goto(`${base}/console/connect`);
    await page.fill('input[name=name]', 'agent-1');
    await Promise.all([page.waitForNavigation(), page.click('button:text("Make a key")')]);
    const key = (await page.innerText('.notice.good pre')).trim();
    assert.ok((await page.innerText('.snippets')).includes(key));
    const answer = await fetch(`${base}/tools`, { headers: { authorization: `Bearer ${key}` } });
    assert.equal(answer.status, 200, 'the key works at once');
    await page.goto(`${base}/console/callers`);
    assert.ok(!(await page.content()).includes(key), 'it is shown once');
    await page.click('tr:has-text("agent-1") >> text=Revoke…');
    await page.check('tr:has-text("agent-1") input[name=confirm]');
    await Promise.all([page.waitForNavigation(), page.click('tr:has-text("agent-1") button')]);
    assert.equal((await fetch(`${base}/tools`, { headers: { authorization: `Bearer ${key}` } })).status, 401);
  });
  await story('tasks are followed and cancelled', page, async () => {
    const answer = await fetch(`${base}/call_tool/Kit_wait`, { method: 'POST', body: '{}', headers: { authorization: `Bearer ${KEYS.ops}` } });
    const task = (await answer.json()).task_id;
    await page.goto(`${base}/console/tasks`);
    await page.click(`a[href$="${task}"]`);
    await page.check('input[name=confirm]');
    await Promise.all([page.waitForNavigation(), page.click('text=Cancel task')]);
    assert.match(await page.innerText('.head'), /cancelled/);
  });
  await story('the configuration as it was read, with the fault of one that cannot be used', page, async () => {
    await page.goto(`${base}/console/config`);
    const shown = await page.innerText('main');
    assert.ok(shown.includes('operator = true') && !shown.includes('ops-ops'), 'no secret is shown');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, `${text}\nno_such_key = 1\n`);
    while ((await api(base, 'config')).fault === null) await page.waitForTimeout(100);
    await page.reload();
    assert.match(await page.innerText('.notice.bad'), /no_such_key/);
    writeFileSync(file, text);
  });
  await story('only with the keyboard', page, async () => {
    await page.goto(`${base}/console/tools`);
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('/');
    await page.keyboard.type('typed');
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
    for (let press = 0; press < 12 && !(await page.evaluate('document.activeElement.matches("tbody a")')); press += 1) await page.keyboard.press('Tab');
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
    await page.focus('[data-path="n"] input');
    await page.keyboard.type('9');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.result .state.good');
  });
  await page.context().close();
}

/** Without scripts everything that is not live works. */
async function withoutScripts(base) {
  const page = await open(browser, base, { javaScriptEnabled: false });
  await signIn(page, base);
  await page.goto(`${base}/console/tools?q=typed`);
  await page.click('tbody a');
  await page.fill('#arguments', '{"n": 3}');
  await Promise.all([page.waitForNavigation(), page.click('#call')]);
  assert.match(await page.innerText('#result'), /did not run[\s\S]*minimum|5/);
  await page.fill('#arguments', '{"n": 6}');
  await Promise.all([page.waitForNavigation(), page.click('#call')]);
  assert.match(await page.innerText('#result'), /returned/);
  await Promise.all([page.waitForNavigation(), page.click('text=Sign out')]);
  assert.match(await page.innerText('h1'), /Sign in/);
  await page.context().close();
  console.log('without scripts: good');
}

try {
  const { base, file } = await run('stories', CALLERS + KIT);
  await stories(base, file);
  await withoutScripts(base);
  await story('attacks', null, () => attacks(browser, base));
  await story('forms', null, async () => forms(browser, await run('real', KIT + real())));
  const [call] = (await api(base, 'calls?limit=1')).calls;
  await story('how it looks', null, () => look((options) => open(browser, base, options), base, call.id));
  await story('scale', null, async () => scale(browser, await run('many', MANY)));
  await story('guessing keys', null, () => guessing(browser, base));
  assert.deepEqual(failed, []);
  console.log('the console: good');
} finally {
  await browser.close();
  servers.forEach((server) => server.stop());
}

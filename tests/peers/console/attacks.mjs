// Hostile texts, keys that are revoked while they are used, and sign-ins that must not work.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { KEYS, api, open, signIn } from './server.mjs';

async function hostileTexts(browser, base) {
  const page = await open(browser, base);
  await signIn(page, base);
  for (const path of ['tools', 'tools/Kit.hostile', 'tools/Kit.long_description', 'tools?q=%3Cimg%20src%3Dx%20onerror%3Dwindow.attacked%3D1%3E', 'calls?tool=%22%3E%3Cscript%3Ewindow.attacked%3D1%3C/script%3E']) {
    const began = Date.now();
    await page.goto(`${base}/console/${path}`);
    assert.ok(Date.now() - began < 3000, `${path} is shown in time`);
    assert.equal(await page.evaluate('window.attacked'), undefined, path);
    assert.equal(await page.$$eval('img[src="x"]', (found) => found.length), 0, path);
  }
  assert.ok((await page.goto(`${base}/console/tools/Kit.hostile`)).ok());
  const said = await page.innerText('main');
  assert.ok(said.includes('<img src=x') && said.includes('\\u{202e}'), 'texts are shown as they are, and nothing hides');
  for (const tool of ['media', 'rows', 'long', 'fail', 'hostile']) {
    await page.goto(`${base}/console/tools/Kit.${tool}`);
    await page.click('#call');
    await page.waitForSelector('.result');
    assert.equal(await page.evaluate('window.attacked'), undefined, tool);
  }
  await page.goto(`${base}/console/tools/Kit.media`);
  await page.click('#call');
  await page.waitForSelector('.result');
  assert.equal(await page.$$eval('.result img', (found) => found.filter((one) => one.naturalWidth > 0).length), 1, 'the image that runs nothing is shown');
  assert.equal(await page.$$eval('.result audio', (found) => found.length), 1);
  assert.deepEqual([...new Set(await page.$$eval('.result a[target]', (found) => found.map((one) => one.protocol)))], ['https:']);
  assert.deepEqual([page.noted.elsewhere, page.noted.faults], [[], []]);
  await page.context().close();
}

/** A key is revoked in one tab while another uses it. */
async function revoked(browser, base) {
  const { key } = await api(base, 'keys', { method: 'POST', body: JSON.stringify({ name: 'second', operator: true }) });
  const [mine, theirs] = [await open(browser, base), await open(browser, base)];
  await signIn(mine, base);
  await signIn(theirs, base, key);
  await theirs.goto(`${base}/console/calls`);
  await theirs.waitForSelector('#live.good');
  await mine.goto(`${base}/console/callers`);
  await mine.click('tr:has-text("second") >> text=Revoke…');
  await mine.check('tr:has-text("second") input[name=confirm]');
  await Promise.all([mine.waitForNavigation(), mine.click('tr:has-text("second") button')]);
  await theirs.waitForSelector('#key', { timeout: 10_000 });
  assert.equal((await theirs.context().request.get(`${base}/console/api/overview`)).status(), 401);
  assert.equal((await mine.goto(`${base}/console`)).status(), 200, 'others go on');
  await mine.context().close();
  await theirs.context().close();
}

async function requests(browser, base) {
  const page = await open(browser, base);
  await signIn(page, base);
  const { request } = page.context();
  // The cookie alone changes nothing, whatever is sent with it.
  for (const [path, form] of [['console/api/keys', { data: { name: 'evil', operator: true } }], ['console/callers', { form: { action: 'add', name: 'evil' } }],
    ['console/tools/Kit.drop', { form: { arguments: '{"table":"t"}' } }], ['console/sign-out', { form: {} }], ['console/api/sources/Kit/restart', { data: {} }]]) {
    assert.equal((await request.post(`${base}/${path}`, form)).status(), 403, path);
    assert.equal((await request.post(`${base}/${path}`, { ...form, headers: { 'x-csrf-token': 'guess' } })).status(), 403, path);
  }
  assert.ok(!JSON.stringify(await api(base, 'keys')).includes('evil'));
  // Nor does a page of somebody else, which does not even send it.
  const evil = createServer((_, response) => response.setHeader('content-type', 'text/html').end(
    `<form method="post" action="${base}/console/callers"><input name="action" value="add"><input name="name" value="evil"></form><iframe src="${base}/console"></iframe><script>document.forms[0].submit()</script>`));
  evil.listen(0, '127.0.0.1');
  await once(evil, 'listening');
  const lure = await page.context().newPage();
  const posted = lure.waitForResponse((answer) => answer.request().method() === 'POST');
  await lure.goto(`http://localhost:${evil.address().port}`);
  assert.equal((await posted).status(), 403);
  evil.close();
  evil.closeAllConnections();
  // Whoever signed out has no session any more, also with the old cookie.
  const old = await page.context().cookies();
  await page.goto(`${base}/console`);
  await Promise.all([page.waitForNavigation(), page.click('text=Sign out')]);
  await page.context().addCookies(old);
  assert.equal((await page.context().request.get(`${base}/console`)).status(), 401);
  await page.context().close();
}

/** The last story: afterwards nobody may sign in for a minute. */
async function guessing(browser, base) {
  const post = (key, referer = base) => fetch(`${base}/console/sign-in`, { method: 'POST', redirect: 'manual', body: new URLSearchParams({ key }), headers: { referer } });
  assert.equal((await post(KEYS.alice)).status, 401, 'a key that is not an operator\'s');
  const good = await post(KEYS.ops, 'https://evil.example/console//evil.example');
  assert.equal(good.headers.get('location'), '../console', 'the sign-in leads nowhere else');
  const seen = [];
  for (let attempt = 0; attempt < 12; attempt += 1) seen.push((await post(`guess ${attempt}`)).status);
  assert.ok(seen.includes(429), `${seen}`);
  const refused = await post(KEYS.ops);
  assert.equal(refused.status, 429, 'a good key is not looked at either, so that nobody learns which it is');
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
}

export async function attacks(browser, base) {
  await hostileTexts(browser, base);
  await revoked(browser, base);
  await requests(browser, base);
  console.log('attacks: good');
}

export { guessing };

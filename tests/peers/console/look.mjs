// Pictures of every page in both themes and two widths, and axe-core's findings on each.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { PICTURES, axe, signIn } from './server.mjs';

const WIDTHS = { wide: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };

const PAGES = {
  overview: 'console', tools: 'console/tools', tool: 'console/tools/Kit.typed', union: 'console/tools/Kit.schema_one_of', calls: 'console/calls', tasks: 'console/tasks',
  sources: 'console/sources', source: 'console/sources/Kit', callers: 'console/callers', config: 'console/config', connect: 'console/connect',
};

async function audit(page, name) {
  // The policy would not let it in: these pages are opened without one.
  await page.addScriptTag({ path: axe() });
  const found = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ['violations'] })).violations);
  const serious = found.filter((one) => ['serious', 'critical'].includes(one.impact));
  assert.deepEqual(serious.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3).join(' | ')}`), [], `axe on ${name}`);
}

async function shoot(page, name, theme) {
  for (const [width, size] of Object.entries(WIDTHS)) {
    await page.setViewportSize(size);
    await page.screenshot({ path: join(PICTURES, `${name}-${theme}-${width}.png`), fullPage: width === 'wide' });
    const fits = await page.evaluate('document.documentElement.scrollWidth <= innerWidth');
    assert.ok(fits, `${name} does not scroll sideways at ${width}`);
  }
  await page.setViewportSize(WIDTHS.wide);
}

export async function look(open, base, call) {
  mkdirSync(PICTURES, { recursive: true });
  for (const theme of ['light', 'dark']) {
    const page = await open({ colorScheme: theme, bypassCSP: true });
    await page.goto(`${base}/console`);
    await shoot(page, 'sign-in', theme);
    await audit(page, `sign-in ${theme}`);
    await signIn(page, base);
    for (const [name, path] of Object.entries({ ...PAGES, call: `console/calls/${call}` })) {
      await page.goto(`${base}/${path}`);
      await shoot(page, name, theme);
      await audit(page, `${name} ${theme}`);
    }
    await page.goto(`${base}/console/tools/Kit.media`);
    await page.click('#call');
    await page.waitForSelector('.result');
    await shoot(page, 'result', theme);
    await audit(page, `result ${theme}`);
    await page.context().close();
  }
}

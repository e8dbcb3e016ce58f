// Draws docs/console.png: a tool of the quickstart is called in the console.
import { readFileSync } from 'node:fs';
import { browse, open, start } from './server.mjs';

const config = readFileSync('examples/quickstart/toolmux.toml', 'utf8').replaceAll('"../', `"${process.cwd()}/examples/`);
const server = await start('picture', config);
const browser = await browse();
try {
  const page = await open(browser, server.base, { viewport: { width: 1100, height: 800 }, deviceScaleFactor: 1.25 });
  await page.goto(`${server.base}/console`);
  await page.click('.first a >> nth=0');
  await page.fill('[data-path=zone] input', 'Europe/Paris');
  await page.click('#call');
  await page.waitForSelector('.result');
  await page.evaluate('scrollTo(0, 0)');
  await page.screenshot({ path: 'docs/console.png' });
} finally {
  await browser.close();
  server.stop();
}

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
);
interface AxeResult {
  violations: { id: string; nodes: { html: string }[] }[];
}

/** Rules of accessibility (axe) that a page breaks; in dark, those of colours. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  const found: string[] = [];
  // Evaluated by the debugger, which the page's policy does not concern.
  await page.evaluate(axeSource);
  for (const [colorScheme, rules] of [
    ['light', {}],
    ['dark', { runOnly: ['color-contrast', 'link-in-text-block'] }],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    const options = JSON.stringify({ resultTypes: ['violations'], ...rules });
    const { violations } = await page.evaluate<AxeResult>(`axe.run(document, ${options})`);
    for (const { id, nodes } of violations)
      found.push(`${colorScheme} ${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
  }
  return found;
}

import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../../scripts/lib/project.ts';
import { retentionOf } from '../../src/operator/capacity/retention.ts';
import { loadConfig } from '../../src/platform/config/app-config.ts';
import { STATUS } from '../../src/platform/http/errors/problem.filter.ts';
import { errorView } from '../../src/platform/http/errors/error.schema.ts';
import { TRIGGERS } from '../../src/platform/webhooks/webhook-state.ts';
import { REASONS } from '../../src/sync/completeness/completeness-policy.ts';
import { readPage } from '../support/docs/pages.ts';

/** The cells of all tables of a page, by row. */
const rows = (page: string): string[][] =>
  readPage(page)
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .slice(1, -1)
        .split(' | ')
        .map((cell) => cell.trim()),
    );
const first = (page: string): string[] => rows(page).map(([cell = '']) => cell);

const config = loadConfig({
  DATABASE_URL: 'postgresql://localhost/carillon',
  ENCRYPTION_KEYS: `main:${Buffer.alloc(32).toString('base64')}`,
});

describe('docs/errors.md', () => {
  it('has a row for each status', () => {
    const wanted = [...Object.values(STATUS), 405, 500].map(String);
    expect(first('docs/errors.md').filter((cell) => /^\d+$/.test(cell))).toEqual(wanted.toSorted());
  });

  it('has a row for each type of the main API', () => {
    const types = errorView.shape.type.options.map((type) => `\`${type}\``);
    expect(first('docs/errors.md')).toEqual(expect.arrayContaining(types));
  });

  it('has a row for each type of the integrations API that the code knows', () => {
    const code = fs
      .readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
      .map((file) => fs.readFileSync(path.join(ROOT, 'src', file), 'utf8'))
      .filter((text) => /betaType|BETA_TYPES/.test(text))
      .join('\n');
    const types = new Set(
      [...code.matchAll(/'((?:api|grant)\.[a-z_]+_[a-z_]+|api\.conflict)'/g)].map(
        ([, type = '']) => `\`${type}\``,
      ),
    );
    expect(types.size).toBeGreaterThan(15);
    const shown = first('docs/errors.md').filter((cell) => /^`(api|grant)\./.test(cell));
    expect(shown.toSorted()).toEqual([...types].toSorted());
  });
});

describe('docs/webhook-payloads.md', () => {
  it('has a row for each trigger', () => {
    const shown = first('docs/webhook-payloads.md').filter((cell) =>
      /^`(?!extras)[a-z]+\.[a-z_]+`$/.test(cell),
    );
    expect(shown.toSorted()).toEqual(TRIGGERS.map((trigger) => `\`${trigger}\``).toSorted());
  });
});

describe('docs/completeness.md', () => {
  it('has each reason why a day is not complete', () => {
    const shown = first('docs/completeness.md').flatMap(
      (cell) => cell.match(/[a-z_]+(?=`)/g) ?? [],
    );
    expect(shown).toEqual(expect.arrayContaining([...REASONS]));
  });
});

describe('docs/stored-data.md', () => {
  it('says how long each kind of row is kept, as carillon capacity does', () => {
    const wanted = retentionOf(config).map(({ what, kept, setting }) => [
      what,
      kept,
      setting === null ? '–' : `\`${setting}\``,
    ]);
    expect(rows('docs/stored-data.md')).toEqual(expect.arrayContaining(wanted));
  });
});

describe('docs/request-limits.md', () => {
  it('has the limits of the configuration with their defaults', () => {
    const { rateLimits, checks, outbox } = config;
    const cells = (setting: string) =>
      rows('docs/request-limits.md').find((row) => row[2] === `\`${setting}\``) ?? [];
    expect(cells('RATE_LIMIT_APPLICATION')[1]).toBe(`${rateLimits.applicationPerSecond}`);
    expect(cells('RATE_LIMIT_ACCOUNT')[1]).toBe(`${rateLimits.accountPerSecond}`);
    expect(cells('RATE_LIMIT_CONCURRENT')[1]).toBe(`${rateLimits.accountConcurrent}`);
    expect(cells('RATE_LIMIT_FAILURES')[1]).toBe(`${rateLimits.failuresPerClient}`);
    expect(cells('SEND_SLOTS')[1]).toBe(`${outbox.slots}`);
    const { perProcess, perApplication, perAddress, perHost } = checks;
    expect(cells('CONNECT_CHECKS…')[1]).toBe(
      `${perProcess}; ${perApplication} for an application, ${perAddress} for an address, ${perHost} for a host`,
    );
  });
});

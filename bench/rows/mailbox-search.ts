import type { BenchRow, Finding } from '../finding.ts';
import type { Report } from '../report.ts';
import { EVERYWHERE, RARE, seedMailbox, wordOf } from '../search-sample.ts';
import { median, round } from '../statistics.ts';
import type { World } from '../world.ts';
import { type Program, startProgram } from './program.ts';

const KEY = 'search';
const OTHERS = 5;
const WARM = 3;
const NEEDED_MS = 50;

/** Queries, named by the property that decides their speed. */
const QUERIES: Readonly<Record<string, string>> = {
  'a rare word': RARE,
  'a word of 1 in 200 messages': `${wordOf(2_000)} `,
  'a word of 1 in 12 messages': `${wordOf(120)} `,
  'a word in half of them': `${wordOf(8)} `,
  'a word in all of them': `${EVERYWHERE[0]} `,
  'the beginning of words': 'wa',
  'two frequent words': `${EVERYWHERE[0]} ${wordOf(3)} `,
  'a phrase in all messages': `"${EVERYWHERE.join(' ')}"`,
  'a phrase of frequent words in few messages': `"${wordOf(2)} ${wordOf(5)}"`,
  'from: and a word': `from:person-7@elsewhere.test ${wordOf(40)} `,
  'operators alone': 'from:person-7@elsewhere.test has:attachment is:unread',
  'a frequent word, unread, in the inbox': `${EVERYWHERE[0]} is:unread in:inbox`,
  'a word and not another, before a day': `${wordOf(40)} -${wordOf(1)} before:2026-06-01`,
  'one word or another': `${RARE} OR ${wordOf(300)} `,
};

async function ask(
  { port }: Program,
  token: string,
  what: string,
  q: string,
): Promise<{ ms: number; count: number }> {
  const begun = performance.now();
  const response = await fetch(
    `http://127.0.0.1:${port}/${what}/search?${new URLSearchParams({ q })}`,
    {
      headers: { authorization: `Bearer ${token}` },
    },
  );
  const text = await response.text();
  const ms = performance.now() - begun;
  if (!response.ok) throw new Error(`${q}: ${response.status}: ${text}`);
  return { ms, count: (JSON.parse(text) as unknown[]).length };
}

async function measure(
  world: World,
  report: Report,
  program: Program,
  token: string,
  what: string,
): Promise<Finding[]> {
  const figures: Record<string, number[]> = {};
  for (const [name, q] of Object.entries(QUERIES)) {
    const times: number[] = [];
    let count = 0;
    for (let number = -WARM; number < world.scale.searches; number += 1) {
      const asked = await ask(program, token, what, q);
      count = asked.count;
      if (number >= 0) times.push(asked.ms);
    }
    figures[name] = times;
    report.round(
      KEY,
      what,
      `${round(median(times), 1).toString().padStart(6)} ms  ${name} (${count} found)`,
    );
  }
  const worst = Object.entries(figures).toSorted(([, a], [, b]) => median(b) - median(a))[0];
  return [
    {
      what: `${what}: the slowest of ${Object.keys(QUERIES).length} queries, p50`,
      detail: worst?.[0] ?? '',
      measured: round(median(worst?.[1] ?? []), 1),
      needed: NEEDED_MS,
      aim: null,
      better: 'less',
      unit: ' ms',
      figures,
    },
  ];
}

/** Searches over HTTP in a large account. Half of the messages belong to other accounts. */
export const searchRow: BenchRow = {
  key: KEY,
  title: 'search: a large account beside other accounts',
  async run(world, report) {
    const database = await world.database(KEY);
    const [account, ...others] = world.sandboxAccounts;
    if (!account) throw new Error('there is no account');
    const { searchedMessages } = world.scale;
    const begun = performance.now();
    for (const [index, other] of others.slice(0, OTHERS).entries()) {
      await seedMailbox(database.sql, other.id, searchedMessages / OTHERS, index + 2);
      if (index === 2) await seedMailbox(database.sql, account.id, searchedMessages, 1);
    }
    report.note(
      `${2 * searchedMessages} messages written in ${round((performance.now() - begun) / 1000, 0)} s`,
    );
    await world.settle(database);
    const program = await startProgram(world, database, { ROLES: 'api' });
    const findings: Finding[] = [];
    for (const what of ['messages', 'threads'])
      findings.push(...(await measure(world, report, program, account.token, what)));
    await world.stop(program.child);
    await database.drop();
    return findings;
  },
};

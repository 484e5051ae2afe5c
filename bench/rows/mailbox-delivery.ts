import { setTimeout as delay } from 'node:timers/promises';
import { mimeOf } from '../../test/support/mail-servers/mail-servers.ts';
import type { BenchRow, Finding } from '../finding.ts';
import { round, spread } from '../statistics.ts';
import { connectOver, newestMessages, startProgram, startServers, untilTrue } from './program.ts';

const KEY = 'delivery';
const LIMIT_MS = 30_000;
const EVERY_MS = 10;
/** Longest pause between two messages, in milliseconds. */
const PAUSE_MS = 300;

/** Time from the mail server's acceptance of a message until the API shows it. */
export const deliveryRow: BenchRow = {
  key: KEY,
  title:
    "delivery: from the mail server's acceptance to the message in GET /messages, mailbox watched",
  async run(world, report) {
    const servers = await startServers(world);
    const user = await servers.addUser('ada');
    const database = await world.database(KEY);
    const program = await startProgram(world, database);
    const mailbox = await connectOver(program, world, user, servers.settingsOf(user));
    const isWatched = async () => {
      const { rowCount } = await database.sql.query(
        'select 1 from mailbox_watch where up_since is not null',
      );
      return rowCount === 1;
    };
    await untilTrue('the watch', isWatched, { limitMs: LIMIT_MS, everyMs: 100 });
    const times: number[] = [];
    for (let number = 0; number < world.scale.deliveries; number += 1) {
      const subject = `Delivered as number ${number}`;
      await servers.deliver(user, mimeOf({ Subject: subject }));
      const begun = performance.now();
      const isThere = async () =>
        (await newestMessages(program, mailbox, 1))[0]?.subject === subject;
      const shown = await untilTrue(subject, isThere, { limitMs: LIMIT_MS, everyMs: EVERY_MS });
      times.push(shown - begun);
      await delay(Math.random() * PAUSE_MS);
    }
    await world.stop(program.child);
    await database.drop();
    await servers.stop();
    const figures = spread(times);
    const { p50, p99, max } = figures;
    report.round(KEY, `${figures.count} messages`, `p50 ${p50} ms, p99 ${p99} ms, max ${max} ms`);
    return [
      {
        what: `p99 of ${figures.count} messages`,
        measured: round(p99, 0),
        needed: 2_000,
        aim: null,
        better: 'less',
        unit: ' ms',
        figures,
      },
    ] satisfies Finding[];
  },
};

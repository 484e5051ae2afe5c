import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BudgetExhaustedError } from '../../src/platform/budgets/budget-exhausted-error.ts';
import { MicrosoftFixture } from '../support/microsoft-account.ts';

/** Of the bucket, history leaves 200 requests and news 80. */
const BUCKET = 400;
const HISTORY_LEAVES = 200;

describe('a Microsoft mailbox whose budget is half used', () => {
  let fixture: MicrosoftFixture;
  beforeAll(async () => {
    const account = { units: 2 * BUCKET, seconds: 36_000, burst: 0.5 };
    fixture = await MicrosoftFixture.start({ account });
  });
  afterAll(() => fixture.stop());

  it('shows news in each sync pass while the history of a new folder waits', async () => {
    const account = fixture.account();
    const { mail } = fixture.connector;
    const put = (subject: string) =>
      fixture.stub.put(account.email, `Subject: ${subject}\r\n\r\nHi\r\n`);
    let cursor: string | null = null;
    /**
     * @param slowMs how far the clock of the pass's process is behind
     * @returns ids of the messages that a pass reports, and whether it has to wait
     */
    const pass = async (slowMs = 0) => {
      const seen: string[] = [];
      const beganAt = new Date(Date.now() - slowMs);
      try {
        for (let more = true; more;) {
          const request = { cursor, limit: 100, since: null, known: async () => [], beganAt };
          const changes = await mail.listChanges(account, request);
          seen.push(...changes.messages.map(({ providerId }) => providerId));
          ({ cursor, more } = changes);
        }
        return { seen, waits: false };
      } catch (error) {
        if (!(error instanceof BudgetExhaustedError)) throw error;
        return { seen, waits: true };
      }
    };
    const { immutableId: first } = await put('First');
    expect(await pass()).toMatchObject({ waits: false });
    const used = () => fixture.stub.requests.filter(({ path }) => path.startsWith('/v1.0/')).length;
    while (used() < BUCKET - HISTORY_LEAVES) await mail.fetchRaw(account, first);

    fixture.stub.user(account.email).mailbox.createFolder('Projects');
    expect(await pass()).toEqual({ seen: [], waits: true });
    const passes: [string, number][] = [
      ['Second', 0],
      ['Third', 0],
      ['Of a process with a slow clock', 30_000],
    ];
    for (const [subject, slowMs] of passes) {
      const { immutableId } = await put(subject);
      expect(await pass(slowMs)).toEqual({ seen: [immutableId], waits: true });
    }
  });
});

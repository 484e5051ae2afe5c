import type { FaultAnswer } from '../remote-stub/faults.ts';
import type { StubAnswer } from '../remote-stub/messages.ts';
import type { EmulatedAccount, EmulatorWorld } from './emulator-world.ts';

/** What the tables of faults need to know about a provider. */
export interface FaultyProvider {
  /** An error in the provider's form; `retryAfter` in seconds. */
  refusal(status: number, retryAfter?: number): StubAnswer;
  /** Seconds for which Carillon asks nothing if a 429 names no pause. */
  usualPause: number;
}

export type FaultName =
  | '401'
  | '403'
  | '404'
  | '410'
  | '429 for 6 s'
  | '429'
  | '500'
  | '504 after done'
  | 'cut after done';

interface Fault {
  /** Continues "when the request …". */
  when: string;
  answer(provider: FaultyProvider): FaultAnswer;
  /** Seconds for which Carillon must not repeat the request. */
  pause?(provider: FaultyProvider): number;
}

const answered = (status: number): Fault => ({
  when: `is answered ${status}`,
  answer: ({ refusal }) => refusal(status),
});
const FAULTS: Readonly<Record<FaultName, Fault>> = {
  401: answered(401),
  403: answered(403),
  404: answered(404),
  410: answered(410),
  // Longer than the usual pause. One process knows of a pause by a clock that tests cannot move.
  '429 for 6 s': {
    when: 'is answered 429 with Retry-After',
    answer: ({ refusal }) => refusal(429, 6),
    pause: () => 6,
  },
  429: {
    ...answered(429),
    when: 'is answered 429 without Retry-After',
    pause: ({ usualPause }) => usualPause,
  },
  500: answered(500),
  '504 after done': { when: 'is done but answered 504', answer: () => '504-after-done' },
  'cut after done': { when: 'is done but its answer is lost', answer: () => 'drop-after-done' },
};

/** What must follow a fault. `requests` counts those of this kind, the failed one included. */
const OUTCOMES = {
  renewed: { follows: 'is repeated at once with a new token', status: 'successful', requests: 2 },
  repeated: { follows: 'is repeated later', status: 'successful', requests: 2 },
  found: { follows: 'is found done, and not repeated', status: 'successful', requests: 1 },
  failed: { follows: 'is not repeated, and the job fails', status: 'failed', requests: 1 },
} as const;
type Expected = Partial<Record<FaultName, keyof typeof OUTCOMES>>;

/** One kind of request that changes something, and what must follow its faults. */
export interface FaultyWork {
  /** What the request does, in words. */
  what: string;
  /** The faults that are tested. */
  faults: Expected;
  /** `METHOD path` of the request. */
  request: RegExp;
  /** Lets Carillon do the work, with a name that is used once. @returns id of the job */
  begin(one: EmulatedAccount, name: string): Promise<string>;
  /** How often it was done, as the emulator has it. */
  count(one: EmulatedAccount, name: string): Promise<number>;
}

interface Fixture {
  world: EmulatorWorld;
  one: EmulatedAccount;
}

const nameOf = (what: string, when: string) => `${what} ${when}`.replaceAll(/\W+/g, '');

/** What a failed test leaves behind would fail the next ones. */
function finishAfterEach(fixture: () => Fixture): void {
  afterEach(async () => {
    const { world, one } = fixture();
    await world.finish(one);
  });
}

/** Registers a test for each fault of a request that changes something. */
export function describeWriteFaults(
  work: FaultyWork,
  provider: FaultyProvider,
  fixture: () => Fixture,
): void {
  const rows = Object.entries(work.faults).map(([name, outcome]) => ({
    ...FAULTS[name as FaultName],
    ...OUTCOMES[outcome],
    outcome,
  }));
  describe(`the request to ${work.what}`, () => {
    finishAfterEach(fixture);
    it.each(rows)('$follows when it $when', async (row) => {
      const { world, one } = fixture();
      const before = world.requestsOf(one, work.request).length;
      const name = nameOf(work.what, row.when);
      world.fail(one, work.request, row.answer(provider));
      const job = await world.ended(one, await work.begin(one, name));
      expect(job).toMatchObject({ status: row.status });
      expect(await work.count(one, name)).toBe(row.status === 'successful' ? 1 : 0);
      const made = world.requestsOf(one, work.request).slice(before);
      expect(made).toHaveLength(row.requests);
      const [first, second] = made;
      if (!first || !second) return;
      const isSameToken = first.headers.authorization === second.headers.authorization;
      expect(isSameToken).toBe(row.outcome !== 'renewed');
      const pause = row.pause?.(provider) ?? 0;
      expect(second.at - first.at).toBeGreaterThanOrEqual(pause * 1000);
    });
  });
}

/** One kind of request that reads changes. Whatever fails, the changes must be shown in the end. */
export interface FaultyReading {
  /** What the request reads, in words. */
  what: string;
  /** The faults that are tested. */
  faults: readonly FaultName[];
  /** `METHOD path` of the request. */
  request: RegExp;
  /** What must be shown before the request fails. */
  prepare?(one: EmulatedAccount, name: string): Promise<void>;
  /** Changes something at the emulator, with a name that is used once. */
  change(one: EmulatedAccount, name: string): Promise<void>;
  /** Waits until the change is shown, and checks that nothing else has changed. */
  shown(one: EmulatedAccount, name: string): Promise<void>;
}

/** Registers a test for each fault of a request that reads changes. */
export function describeReadFaults(
  reading: FaultyReading,
  provider: FaultyProvider,
  fixture: () => Fixture,
): void {
  const rows = reading.faults.map((name) => FAULTS[name]);
  describe(`when the request for ${reading.what}`, () => {
    finishAfterEach(fixture);
    it.each(rows)('$when, the changes are shown, and nothing is lost', async (row) => {
      const { world, one } = fixture();
      const name = nameOf(reading.what, row.when);
      await reading.prepare?.(one, name);
      const before = world.requestsOf(one, reading.request).length;
      world.fail(one, reading.request, row.answer(provider));
      await reading.change(one, name);
      await reading.shown(one, name);
      const made = world.requestsOf(one, reading.request).slice(before);
      const [failed, next] = made.slice(made.findIndex(({ isFault }) => isFault));
      expect(failed).toMatchObject({ isFault: true });
      const pause = row.pause?.(provider);
      if (pause === undefined || !failed || !next) return;
      expect(next.at - failed.at).toBeGreaterThanOrEqual(pause * 1000);
    });
  });
}

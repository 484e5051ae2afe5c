import type { FaultAnswer } from './remote-stub/faults.ts';
import type { StubRequest } from './remote-stub/messages.ts';
import type { RemoteSide } from './remote-side.ts';

const UNAVAILABLE = { status: 503, raw: 'Service Unavailable' };

/** Numbers from 0 to 1 that are the same in each run (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Faults of a provider at random requests. */
export interface RemoteStorm {
  /** How many requests got each kind of fault, by the names of `KINDS`. */
  readonly faults: Readonly<Record<string, number>>;
  end(): void;
}

/** What a provider that fails does. `done` faults do what was asked before. */
function kindsOf({ tooMany }: RemoteSide): [name: string, answer: FaultAnswer][] {
  return [
    ...tooMany.map((answer, index): [string, FaultAnswer] => [`too many ${index}`, answer]),
    ['500', { status: 500, raw: 'Internal Server Error' }],
    ['503', UNAVAILABLE],
    ['503 with Retry-After', { ...UNAVAILABLE, headers: { 'retry-after': '1' } }],
    ['502', { status: 502, raw: 'Bad Gateway' }],
    ['cut', 'drop'],
    ['cut, done', 'drop-after-done'],
    ['504, done', '504-after-done'],
  ];
}

/**
 * Begins a storm: each request but those for tokens gets a fault with this probability, all kinds
 * of faults in turn.
 * @param share 0 to 1
 * @param isExempt requests that get no faults; default: none
 */
export function beginStorm(
  side: RemoteSide,
  {
    seed,
    share,
    isExempt = () => false,
  }: {
    seed: number;
    share: number;
    isExempt?: (request: StubRequest) => boolean;
  },
): RemoteStorm {
  const random = seededRandom(seed);
  const kinds = kindsOf(side);
  const faults: Record<string, number> = {};
  let made = 0;
  /** Kind of fault of each request, `undefined` for none. */
  const chosen = new WeakMap<StubRequest, string | undefined>();
  const choose = (request: StubRequest): string | undefined => {
    if (chosen.has(request)) return chosen.get(request);
    const hit = random() < share && !side.isToken(request) && !isExempt(request);
    const kind = hit ? kinds[made++ % kinds.length]?.[0] : undefined;
    chosen.set(request, kind);
    if (kind !== undefined) faults[kind] = (faults[kind] ?? 0) + 1;
    return kind;
  };
  for (const [name, answer] of kinds)
    side.stub.faults.add({ match: (request) => choose(request) === name, times: Infinity, answer });
  return { faults, end: () => side.stub.faults.clear() };
}

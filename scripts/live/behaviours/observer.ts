import { setTimeout as delay } from 'node:timers/promises';
import { InterruptedError, type Walk } from '../walk.ts';
import { CompanyClient, errorWord, RefusedError } from './company-client.ts';
import { factsOf, type Observation } from './record.ts';

/** The result of a trial. */
export interface Seen {
  answer: Observation['answer'];
  facts?: Readonly<Record<string, unknown>>;
}

/** A behaviour of a company that only a real account can settle. */
export interface Behaviour extends Pick<Observation, 'name' | 'question'> {
  /** One of these scopes of Carillon is needed; empty for none. */
  scopes: readonly string[];
  /** Whether it is tried with `--record` only, because it uses up a quota for a minute. */
  onlyRecorded?: boolean;
  /** Tries it. What it makes at the company it registers with `walk.made`. */
  try(trial: Trial): Promise<Seen>;
}

/** The time that trials see. */
export interface TrialTime {
  /** Milliseconds of a clock that is never set back. */
  now(): number;
  /** Waits two seconds before the next look: companies may be late. */
  pause(): Promise<void>;
}

/** What a trial works with. */
export interface Trial extends TrialTime {
  walk: Walk;
  company: CompanyClient;
}

const PAUSE_MS = 2_000;
const REAL_TIME: TrialTime = { now: () => performance.now(), pause: () => delay(PAUSE_MS) };

/**
 * Tries behaviours one after the other. One that cannot be tried is `open`, with the reason.
 * @param time a test passes its own
 */
export async function observe(
  walk: Walk,
  company: CompanyClient,
  behaviours: readonly Behaviour[],
  time: TrialTime = REAL_TIME,
): Promise<Observation[]> {
  const trial: Trial = { walk, company, ...time };
  const observations: Observation[] = [];
  for (const { name, question, scopes, onlyRecorded, try: work } of behaviours) {
    if (walk.isInterrupted) throw new InterruptedError('interrupted');
    if (onlyRecorded === true && !walk.settings.isRecorded) continue;
    const mayTry =
      scopes.length === 0 || scopes.some((scope) => walk.account.scopes.includes(scope));
    const seen: Seen = mayTry
      ? await tryOne(() => work(trial))
      : { answer: 'open', facts: { isAllowed: false } };
    const { answer, facts = {} } = seen;
    observations.push({ name, question, answer, facts: factsOf(facts) });
    walk.report.note(`${answer === 'open' ? '–' : '·'} ${question} ${answer}`);
  }
  return observations;
}

/** A refusal is also something that was seen; other errors say nothing about the company. */
async function tryOne(work: () => Promise<Seen>): Promise<Seen> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof InterruptedError) throw error;
    if (!(error instanceof RefusedError)) return { answer: 'open', facts: { isBroken: true } };
    const { answer } = error;
    return { answer: 'open', facts: { status: answer.status, error: errorWord(answer) } };
  }
}

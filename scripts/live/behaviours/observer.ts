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

/** What a trial works with. */
export interface Trial {
  walk: Walk;
  company: CompanyClient;
  /** Pause between two looks in milliseconds: companies may be late. */
  pause(): Promise<void>;
}

const PAUSE_MS = 2_000;

/** Tries behaviours one after the other. One that cannot be tried is `open`, with the reason. */
export async function observe(
  walk: Walk,
  company: CompanyClient,
  behaviours: readonly Behaviour[],
): Promise<Observation[]> {
  const trial = { walk, company, pause: () => delay(PAUSE_MS) };
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

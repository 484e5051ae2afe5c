import { DomainError, type ErrorKind } from '../../platform/base/errors/domain-error.ts';
import { TEXTS } from './pages/texts.ts';

/** Why a sign-in page shows nothing but a sentence. */
export type ProblemName = keyof typeof TEXTS.problem;

const KINDS: Readonly<Record<ProblemName, ErrorKind>> = {
  unknown: 'not-found',
  missing: 'not-found',
  used: 'conflict',
  expired: 'conflict',
  elsewhere: 'conflict',
  cookies: 'forbidden',
  redirect: 'invalid',
  client: 'invalid',
  request: 'invalid',
  refused: 'forbidden',
  tooMany: 'rate-limited',
  broken: 'unavailable',
};

/** The sign-in cannot go on; told to whoever sits before the browser, who cannot put it right there. */
export class SignInProblem extends DomainError {
  readonly problem: ProblemName;
  /** The user may go back to the application this way. */
  readonly wayBack: { name: string; url: string } | undefined;

  /** @param text instead of the usual one */
  constructor(problem: ProblemName, text?: string, wayBack?: { name: string; url: string }) {
    const usual = TEXTS.problem[problem];
    super(`sign-in.${problem}`, KINDS[problem], text ?? ('text' in usual ? usual.text : usual.title));
    this.problem = problem;
    this.wayBack = wayBack;
  }
}

import { TEXTS } from './pages/texts.ts';

/** Why a sign-in page shows nothing but a sentence. */
export type ProblemName = keyof typeof TEXTS.problem;

/** Status of the page. */
const STATUS: Readonly<Record<ProblemName, number>> = {
  unknown: 404,
  missing: 404,
  used: 410,
  expired: 410,
  elsewhere: 403,
  cookies: 403,
  redirect: 400,
  client: 400,
  request: 400,
  refused: 403,
  tooMany: 429,
  broken: 500,
};

/** The sign-in cannot go on; told to whoever sits before the browser, who cannot put it right there. */
export class SignInProblem extends Error {
  override name = 'SignInProblem';
  readonly status: number;

  /**
   * @param text instead of the usual one
   * @param wayBack the user may go back to the application this way
   */
  constructor(
    readonly problem: ProblemName,
    text?: string,
    readonly wayBack?: { name: string; url: string },
  ) {
    const usual = TEXTS.problem[problem];
    super(text ?? ('text' in usual ? usual.text : usual.title));
    this.status = STATUS[problem];
  }
}

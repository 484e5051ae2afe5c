import { TEXTS } from '../pages/texts.ts';

/** Name of a problem for which a sign-in page shows only a message. */
export type ProblemName = keyof typeof TEXTS.problem;

/** HTTP status of the page. */
const STATUS: Readonly<Record<ProblemName, number>> = {
  unknown: 404,
  missing: 404,
  used: 410,
  expired: 410,
  elsewhere: 403,
  cookies: 403,
  redirect: 400,
  client: 400,
  suspended: 403,
  request: 400,
  refused: 403,
  tooMany: 429,
  broken: 500,
};

/**
 * The sign-in cannot continue, and the user cannot fix it on the page. The message is shown to the
 * user.
 */
export class SignInProblem extends Error {
  override name = 'SignInProblem';
  readonly status: number;

  /**
   * @param text replaces the usual text
   * @param wayBack name and URL for a link back to the application
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

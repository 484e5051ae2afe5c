import { BudgetExhaustedError } from './budget-exhausted-error.ts';
import { type CompanyApi, describeApi } from './company-api.ts';

/** The operator may raise the ceiling, so nothing waits longer than this before it asks again. */
const LONGEST_WAIT_SECONDS = 3_600;

/**
 * An application has used what it may use of an API today, so the company was not asked. Callers
 * wait as they do for a budget: it counts as a failure of nobody.
 */
export class CeilingReachedError extends BudgetExhaustedError {
  override name = 'CeilingReachedError';

  /**
   * @param ceiling `isOwn`: whether an operator has set it for this application alone
   * @param share the share of the ceiling that calls of this kind may use, 0 to 1
   * @param now until the end of its day in UTC nothing more is allowed
   */
  constructor(
    api: CompanyApi,
    { units, isOwn }: { units: number; isOwn: boolean },
    share: number,
    now: Date,
  ) {
    const { title, counts, ceilingSetting } = describeApi(api);
    const next = new Date(now);
    next.setUTCHours(24, 0, 0, 0);
    const source = isOwn ? `its own limit is ${units}` : `${ceilingSetting}=${units}`;
    const kept = share < 1 ? `; the last ${100 - share * 100} % are kept for other requests` : '';
    super(
      Math.min(LONGEST_WAIT_SECONDS, (next.getTime() - now.getTime()) / 1000),
      undefined,
      `the application has used what it may use of ${title} in a day: ${Math.floor(units * share)} ${counts} (${source}${kept}). The count starts again at ${next.toISOString().replace('.000Z', 'Z')}, unless the operator raises the limit before`,
    );
  }
}

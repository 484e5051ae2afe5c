import type { Actor } from '../../platform/audit/actor.ts';
import { recordAudit } from '../../platform/audit/record-audit.ts';
import { InvalidInputError } from '../../platform/base/errors/domain-error.ts';
import {
  ownCeilingsOf,
  removeOwnCeilings,
  setOwnCeiling,
} from '../../platform/budgets/api-ceilings.ts';
import { COMPANY_APIS, type CompanyApi, describeApi } from '../../platform/budgets/company-api.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { AppConfig } from '../../platform/config/app-config.ts';
import type { Database } from '../../platform/database/sql.ts';
import { OperatorApplications } from '../applications/operator-applications.ts';

/** The APIs that have ceilings. */
export const APIS_WITH_CEILING = (Object.keys(COMPANY_APIS) as CompanyApi[]).filter(
  (api) => describeApi(api).ceilingSetting !== null,
);

/** Most units of a ceiling, as of the settings. */
export const MOST_CEILING = 1_000_000_000_000;

/** The ceiling that is in force for an application and an API. */
export interface ApplicationCeiling {
  applicationId: string;
  api: CompanyApi;
  /** What the application may use in a day (UTC); `null` if it has no ceiling. */
  ceiling: number | null;
  /** Whether it was set for this application. Otherwise it is that of the setting. */
  isOwn: boolean;
}

/** What single applications may use of companies' APIs, for console, API and commands. */
export class OperatorCeilings {
  constructor(
    private readonly database: Database,
    private readonly config: Pick<AppConfig, 'budgets'>,
    private readonly clock: Clock,
  ) {}

  /** The ceilings in force for an application, of all APIs that can have one. */
  async list(applicationId: string): Promise<ApplicationCeiling[]> {
    const own = await ownCeilingsOf(this.database, applicationId);
    return APIS_WITH_CEILING.map((api) => this.#inForce(applicationId, api, own.get(api) ?? null));
  }

  /**
   * Sets the ceiling of an application. All processes follow it within ten seconds.
   * @param application its client id or id
   * @param units 0 = no ceiling; `null`: the setting applies again
   * @throws {NotFoundError}
   * @throws {InvalidInputError} if the API has no ceilings
   */
  async set(
    actor: Actor,
    application: string,
    api: string,
    units: number | null,
  ): Promise<ApplicationCeiling> {
    const known = APIS_WITH_CEILING.find((one) => one === api);
    if (!known)
      throw new InvalidInputError(
        `api: must be one of ${APIS_WITH_CEILING.join(', ')}: other APIs have no ceiling`,
      );
    if (units !== null && !(Number.isSafeInteger(units) && units >= 0 && units <= MOST_CEILING))
      throw new InvalidInputError(`units: must be a whole number from 0 to ${MOST_CEILING}`);
    const applications = new OperatorApplications(this.database, this.clock);
    const { id: applicationId } = await applications.get(application);
    await this.database.transaction(async (sql) => {
      if (units === null) await removeOwnCeilings(sql, applicationId, known);
      else await setOwnCeiling(sql, { applicationId, api: known, units });
      await recordAudit(sql, {
        actor,
        action: 'application.ceiling',
        target: { type: 'application', id: applicationId },
        applicationId,
        details: { api: known, units },
      });
    });
    return this.#inForce(applicationId, known, units);
  }

  /** @param own 0 = no ceiling; `null`: the setting applies */
  #inForce(applicationId: string, api: CompanyApi, own: number | null): ApplicationCeiling {
    const ceilings: Partial<Record<CompanyApi, number>> = this.config.budgets.apiUse.ceilings;
    const ceiling = (own ?? ceilings[api]) || null;
    return { applicationId, api, ceiling, isOwn: own !== null };
  }
}

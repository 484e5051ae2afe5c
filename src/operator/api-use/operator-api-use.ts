import { COMPANY_APIS, type CompanyApi, describeApi } from '../../platform/budgets/company-api.ts';
import type { Clock } from '../../platform/base/time/clock.ts';
import type { AppConfig } from '../../platform/config/app-config.ts';
import type { Sql } from '../../platform/database/sql.ts';
import {
  type ApiUseState,
  ceilingShare,
  forecastOf,
  freeUnitsOf,
  monthOf,
  NEAR_CEILING,
} from './api-use.ts';
import { countedUse, type ListedUse } from './api-use-list.repository.ts';

/** Most entries of a list: applications and their APIs. */
const MOST_LISTED = 1_000;
/** Most entries that the overview names. */
const MOST_WORRYING = 5;

/** What applications use of companies' APIs, with the prices behind the forecast. */
export interface ApiUseList {
  /** When the numbers were read. Counts of the last ten seconds may be missing. */
  at: Date;
  /** End of the month that the forecasts are about, in UTC. */
  monthEndsAt: Date;
  /** Day on which the operator's prices were compared with the company's, `YYYY-MM-DD`. */
  pricesCheckedOn: string;
  /** Most used first; at most 1,000. */
  items: ApiUseState[];
}

/** What applications use of Google's and Microsoft's APIs, for console, API and commands. */
export class OperatorApiUse {
  constructor(
    private readonly database: Sql,
    private readonly config: Pick<AppConfig, 'budgets'>,
    private readonly clock: Clock,
  ) {}

  /** @param application id or client id of the only application to list; absent: all */
  async list(application?: string): Promise<ApiUseList> {
    const at = this.clock.now();
    const items = await this.#read(this.database, at, { application, most: MOST_LISTED });
    const { checkedOn } = this.config.budgets.apiUse.gmailPrices;
    return { at, monthEndsAt: monthOf(at).end, pricesCheckedOn: checkedOn, items };
  }

  /** All entries, for metrics. */
  all(sql: Sql): Promise<ApiUseState[]> {
    return this.#read(sql, this.clock.now());
  }

  /** Entries near their ceiling, or that will cost money; at most five, the worst first. */
  async worrying(sql: Sql): Promise<ApiUseState[]> {
    const all = await this.all(sql);
    return all
      .filter((one) => ceilingShare(one) >= NEAR_CEILING || one.paidForecast > 0)
      .toSorted((one, other) => ceilingShare(other) - ceilingShare(one))
      .slice(0, MOST_WORRYING);
  }

  async #read(sql: Sql, now: Date, only?: ListedUse): Promise<ApiUseState[]> {
    const { apiUse } = this.config.budgets;
    const apis = Object.keys(COMPANY_APIS) as CompanyApi[];
    const free = apis.flatMap((api): [CompanyApi, number][] => {
      const units = freeUnitsOf(api, apiUse);
      return units === null ? [] : [[api, units]];
    });
    const counted = await countedUse(sql, now, new Map(free), only);
    return counted.map((one) => {
      const { company, counts } = describeApi(one.api);
      return forecastOf(one, now, apiUse, { company, counts });
    });
  }
}

import { randomUUID } from 'node:crypto';
import { SystemClock } from '../../src/platform/base/time/clock.ts';
import { ApiUseCounter } from '../../src/platform/budgets/api-use-counter.ts';
import { ProviderBudget } from '../../src/platform/budgets/provider-budget.ts';
import { Database } from '../../src/platform/database/sql.ts';
import { EgressPolicy } from '../../src/platform/egress/egress-policy.ts';
import { WorkThreads } from '../../src/platform/threads/work-threads.ts';
import type { ProviderAccount } from '../../src/providers/port/connector.ts';
import { createTestDatabase } from './test-database.ts';

/** The machine's clock, which a test can put forward. */
class ForwardClock extends SystemClock {
  #aheadMs = 0;

  override now(): Date {
    return new Date(super.now().getTime() + this.#aheadMs);
  }

  advance(milliseconds: number): void {
    this.#aheadMs += milliseconds;
  }
}

/** What the connectors of Google and Microsoft are made of, without a server. */
export async function startProviderParts() {
  const file = await createTestDatabase();
  const database = new Database({
    url: file.url,
    max: 5,
    statementTimeoutMs: 10_000,
    applicationName: 'test',
  });
  const threads = new WorkThreads();
  const policy = new EgressPolicy(['127.0.0.0/8', '::1']);
  const clock = new ForwardClock();
  const parts = {
    policy,
    clock,
    threads,
    budget: new ProviderBudget(database, new ApiUseCounter(database, clock, {})),
  };
  return {
    ...parts,
    async stop() {
      await threads.close();
      await database.close();
      await file.drop();
    },
  };
}
export type ProviderParts = Awaited<ReturnType<typeof startProviderParts>>;

/** An account as connectors see it. */
export function accountWithToken(
  email: string,
  accessToken: string,
  organizationUnit: 'folder' | 'label',
): ProviderAccount {
  return {
    accountId: randomUUID(),
    applicationId: 'application',
    email,
    name: 'Somebody',
    organizationUnit,
    settings: {},
    accessToken,
  };
}

import type { PassingClock } from './passing-clock.ts';
import { until } from './until.ts';

/**
 * Lets hours pass until an audit has removed what two lists lack that are an hour apart
 * (docs/adr/0124).
 * @param sync runs a sync pass over the account
 */
export async function untilAudited(
  clock: PassingClock,
  sync: () => Promise<unknown>,
  isRemoved: () => Promise<boolean>,
): Promise<void> {
  await until('an audit to remove what the provider no longer lists', async () => {
    await clock.pass(3_601_000);
    await sync();
    return isRemoved();
  });
}

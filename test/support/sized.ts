/** Set by the long tests (`test/long`) before they import a storm. */
export const LONG_RUN = 'CARILLON_LONG_TESTS';

/**
 * The size of a storm: its usual one, or in `npm run test:long` its full one. What it proves is the same.
 * @param usual for `npm test`
 * @param long for the long run
 */
export function sized<T>(usual: T, long: T): T {
  return process.env[LONG_RUN] ? long : usual;
}

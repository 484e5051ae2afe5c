/** Variable that the long tests (`test/long`) set before they import a storm. */
export const LONG_RUN = 'CARILLON_LONG_TESTS';

/**
 * The size of a storm: the usual one, or the full one in `npm run test:long`. Both sizes prove the
 * same.
 * @param usual for `npm test`
 * @param long for the long run
 */
export function sized<T>(usual: T, long: T): T {
  return process.env[LONG_RUN] ? long : usual;
}

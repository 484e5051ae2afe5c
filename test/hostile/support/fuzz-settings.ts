/** The seed of the normal run. A fixed seed makes a failure repeatable. */
const USUAL_SEED = 20_261_122;

/**
 * Size and seed of property tests. `FUZZ_FACTOR` (default 1) multiplies the number of inputs.
 * `FUZZ_SEED` is the seed, a number or `random`. `npm run test:fuzz` sets both.
 */
export function fuzzSettings(): { seed: number; factor: number } {
  const { FUZZ_SEED: seed, FUZZ_FACTOR: factor } = process.env;
  const chosen =
    seed === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(seed ?? USUAL_SEED);
  return { seed: chosen, factor: Number(factor ?? 1) };
}

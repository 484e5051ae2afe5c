/** Longest pause between two probes. Shorter ones would take much of a run's processor time. */
const LONGEST_PAUSE_MS = 100;

/**
 * Calls `probe` repeatedly until it returns a value, and returns that value. Use it to wait for
 * another process or a worker: tests never sleep for a guessed time.
 * @throws if there is no value within `limitMs`
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined | null | false>,
  limitMs = 60_000,
): Promise<T> {
  const deadline = performance.now() + limitMs;
  for (let pause = 10; ; pause = Math.min(LONGEST_PAUSE_MS, pause * 1.3)) {
    const value = await probe();
    if (value) return value;
    if (performance.now() > deadline) throw new Error(`waited in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

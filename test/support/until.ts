/**
 * Asks again and again until `probe` gives a value, and returns it. For what another process or a worker does: tests
 * never sleep for a guessed time.
 * @throws when nothing has come within `limitMs`
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined | null | false>,
  limitMs = 60_000,
): Promise<T> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (performance.now() > deadline) throw new Error(`waited in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/**
 * Registers tests of which a server cannot pass some. Those run as well and must fail, so that the
 * list is corrected when the server gets better.
 * @param reasons by the name of the test: what the server lacks or does wrong
 * @throws if there is no test of such a name
 */
export function withKnownFailures(
  reasons: Readonly<Record<string, string>>,
  register: () => void,
): void {
  const seen = new Set<string>();
  const usual = globalThis.it;
  globalThis.it = new Proxy(usual, {
    apply(target, _self, [name, ...rest]: Parameters<typeof usual>) {
      const reason = reasons[name];
      if (reason === undefined) return target(name, ...rest);
      seen.add(name);
      return target.failing(`${name} (fails: ${reason})`, ...rest);
    },
  });
  try {
    register();
  } finally {
    globalThis.it = usual;
  }
  const unknown = Object.keys(reasons).filter((name) => !seen.has(name));
  if (unknown.length > 0) throw new Error(`there is no test "${unknown.join('", "')}"`);
}

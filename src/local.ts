import './platform/base/node-version.ts';

/** The entry point of `npm start`. */
export async function main(): Promise<void> {
  const { serveLocally } = await import('./app/local/start.ts');
  await serveLocally();
}

if (import.meta.main) await main();
